"""Entries of the catalogue and registered operations inside torch.compile(fullgraph=True)."""

import pickle

import pytest
import torch
from dense_torch import same as close
from devices import DEVICE, SINGLE
from torch._dynamo.testing import CompileCounterWithBackend

import tilewright as tw
from tilewright.torch import create_block_mask, flex_attention, register_op


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


S, H = 48, 4
IDS = torch.arange(S) // 13
STARTS = torch.tensor([0, 13, 26, 39])
BIAS = torch.randn(H)
PAIRS = torch.randn(H, S, S)
ROPE = torch.randn(2, H, S, 6), torch.randn(2, 2, S, 6)
MASKS = {
    "causal": lambda: tw.masks.causal(),
    "window": lambda: tw.masks.window(7),
    "documents": lambda: tw.masks.documents(IDS),
    "two tables of one name": lambda: tw.masks.all_of([tw.masks.documents(IDS), tw.masks.documents(IDS.flip(0))]),
    "a mod inside": lambda: tw.masks.per_document(IDS, STARTS, lambda b, h, q, kv: q >= kv),
    "an entry inside": lambda: tw.masks.batchify(12, tw.masks.causal()),
    "joined with a mod": lambda: tw.masks.any_of([tw.masks.window(3), lambda b, h, q, kv: kv == 0]),
    "on a grid": lambda: tw.masks.natten_2d(8, 6, 3),
    "tiles of a grid": lambda: tw.masks.sta_2d(8, 6, 2, 3),
    "moved": lambda: tw.masks.offset(tw.masks.causal(), 5, 2),
}
SCORES = {
    "soft cap": lambda: tw.scores.softcap(3.0),
    "alibi": lambda: tw.scores.alibi(H),
    "bias": lambda: tw.scores.bias_head(BIAS),
    "pairs": lambda: tw.scores.pair_bias(PAIRS),
    "one after the other": lambda: tw.scores.then(tw.scores.softcap(2.0), lambda s, b, h, q, kv: s * BIAS[h]),
    "rows": lambda: tw.scores.mla_rope(*ROPE, 2, 0.5),
    "rbf": lambda: tw.scores.rbf(PAIRS[:, 0, :5], torch.linspace(-8, 8, 5), 0.25),
    "buckets": lambda: tw.scores.t5_bucket(PAIRS[:, 0, :8], (torch.arange(41) * 7 // 41).int(), 20),
}


def operands(grad=False):
    dtype = SINGLE if grad else torch.float32
    return tuple(torch.randn(2, H, S, 16, dtype=dtype, requires_grad=grad) for _ in range(3))


def compiled(function):
    counter = CompileCounterWithBackend("aot_eager")
    return torch.compile(function, backend=counter, fullgraph=True), counter


def same(attend):
    inputs = operands()
    torch.testing.assert_close(compiled(attend)[0](*inputs), attend(*inputs))


@pytest.mark.parametrize("name", MASKS)
def test_masks_made_before_and_inside(name):
    made = MASKS[name]()
    same(lambda q, k, v: flex_attention(q, k, v, mask_mod=made))
    torch._dynamo.reset()
    same(lambda q, k, v: flex_attention(q, k, v, mask_mod=MASKS[name]()))


@pytest.mark.parametrize("name", SCORES)
def test_scores_made_before_and_inside(name):
    made = SCORES[name]()
    same(lambda q, k, v: flex_attention(q, k, v, made))
    torch._dynamo.reset()
    same(lambda q, k, v: flex_attention(q, k, v, SCORES[name](), mask_mod=tw.masks.causal()))


def test_entries_in_block_masks_and_mods():
    mask = create_block_mask(tw.masks.documents(IDS), None, None, S, S, device=DEVICE)
    cap = tw.scores.softcap(4.0)
    same(lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, i, j: cap(s * 2, b, h, i, j) + BIAS[h], mask))


def test_a_changed_table_is_not_stale_and_a_changed_width_soon_compiles_no_more():
    table = torch.randn(H)

    def attend(q, k, v, width):
        return flex_attention(q, k, v, tw.scores.bias_head(table), mask_mod=tw.masks.window(width))

    run, counter = compiled(attend)
    inputs = operands()
    for width in (3, 5, 9, 17):
        table.copy_(torch.randn(H))
        torch.testing.assert_close(run(*inputs, width), attend(*inputs, width))
    assert counter.frame_count <= 2


def test_gradients_of_a_table():
    table = torch.randn(H, requires_grad=True)
    attend = lambda q, k, v: flex_attention(q, k, v, tw.scores.head_gate(table))  # noqa: E731
    inputs = operands(grad=True)
    for a, b in zip(*(torch.autograd.grad(f(*inputs).square().sum(), (*inputs, table))
                      for f in (compiled(attend)[0], attend))):  # fmt: skip
        close(a, b, 1e-5, 1e-4)


def test_registered_operations():
    factor = torch.rand(H)
    library = torch.library.Library("tilewright_compiled", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    register_op(torch.ops.tilewright_compiled.twice, lambda x: x * factor[1])

    class Approximate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.tanh(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    register_op(Approximate, lambda x: torch.tanh(x) * factor[2])

    @torch.library.custom_op("tilewright_compiled::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    register_op(thrice, lambda x: x * 3)
    operations = (torch.ops.tilewright_compiled.twice, torch.ops.tilewright_compiled.twice.default,
                  Approximate.apply, thrice)  # fmt: skip
    for operation in operations:
        torch._dynamo.reset()
        same(lambda q, k, v, operation=operation: flex_attention(q, k, v, lambda s, b, h, i, j: operation(s)))
    torch._dynamo.reset()
    attend = lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, i, j: Approximate.apply(s))  # noqa: E731
    run, counter = compiled(attend)
    for _ in range(2):
        inputs = operands()
        torch.testing.assert_close(run(*inputs), attend(*inputs))
        factor.copy_(torch.rand(H))
    assert counter.frame_count == 1


def test_entries_pickle():
    inputs = operands()
    for entry in (tw.masks.documents(IDS), tw.masks.window(5)):
        again = pickle.loads(pickle.dumps(entry))
        assert torch.equal(flex_attention(*inputs, mask_mod=again), flex_attention(*inputs, mask_mod=entry))
