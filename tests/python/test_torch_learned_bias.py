"""Gradients of learned biases: the kinds that PyTorch's tests name, and those it refuses."""

import pytest
import torch
from dense_torch import same
from devices import LEARNING, SINGLE
from flex_reference import assert_near, assert_sum_near, dense, leaves, operands

from tilewright.torch import flex_attention

H = 4
KINDS = {
    "relative": lambda S: ((2 * S,), lambda s, b, h, q, kv, t: s + t[q - kv + S]),
    "relative by head": lambda S: ((H, 2 * S), lambda s, b, h, q, kv, t: s + t[h, q - kv + S]),
    "absolute": lambda S: ((S, S), lambda s, b, h, q, kv, t: s + t[q, kv]),
    "absolute by batch and head": lambda S: ((2, H, S, S), lambda s, b, h, q, kv, t: s + t[b, h, q, kv]),
    "head": lambda S: ((H,), lambda s, b, h, q, kv, t: s + t[h]),
    "batch and head": lambda S: ((2, H), lambda s, b, h, q, kv, t: s + t[b, h]),
    "query": lambda S: ((S,), lambda s, b, h, q, kv, t: s + t[q]),
    "key": lambda S: ((S,), lambda s, b, h, q, kv, t: s + t[kv]),
    "multiplied": lambda S: ((H, S), lambda s, b, h, q, kv, t: s * t[h, q]),
    "inside a window": lambda S: ((33,), lambda s, b, h, q, kv, t: torch.where(
        (q - kv).abs() <= 16, s + t[torch.clamp(q - kv, -16, 16) + 16], s)),
    "of the first tokens": lambda S: ((S,), lambda s, b, h, q, kv, t: torch.where(kv < 8, s + t[q], s)),
    "of odd subscripts": lambda S: ((2, H, 4, S), lambda s, b, h, q, kv, t: s + t[b, h, kv % 4, q]),
    "read in both orders": lambda S: ((S, S), lambda s, b, h, q, kv, t: s + t[q, kv] + t[kv, q]),
    "flipped": lambda S: ((S, S), lambda s, b, h, q, kv, t: s + t[kv, q]),
    "head gate": lambda S: ((H,), lambda s, b, h, q, kv, t: s * torch.sigmoid(t[h])),
    "scalar": lambda S: ((), lambda s, b, h, q, kv, t: s * t + t),
}  # fmt: skip


def gradients(attend, given, up):
    out = attend(*given)
    return out, *torch.autograd.grad(out, given, up.to(out.dtype), allow_unused=True)


def sizes_of_terms(exact, mod_over, mask, up):
    """For each learned tensor, what its gradient's terms add up to without their signs: those at positive
    and at negative scores apart, since a factor of the score has the score's sign."""
    q, k, v, *learned = leaves(exact)
    kept = []

    def watched(s, b, h, i, j):
        kept.extend((s, mod_over(learned)(s, b, h, i, j)))
        return kept[1]

    out, _ = dense(q, k, v, watched, mask)
    score, modified = kept
    (slope,) = torch.autograd.grad(out, modified, up, retain_graph=True)
    sides = [slope.abs() * (score >= 0), slope.abs() * (score < 0)]
    parts = [torch.autograd.grad(modified, learned, side, retain_graph=True) for side in sides]
    return [a.abs() + b.abs() for a, b in zip(*parts)]


def compare(S, dtype, mods, shapes, mask=None):
    """Gradients of q, k, v and of every learned tensor, against fp64."""
    q, k, v = operands(B=2, H=H, S=S, D=16, dtype=dtype)
    learned = [torch.randn(shape, dtype=dtype) for shape in shapes]
    up = torch.randn(q.shape, dtype=torch.float64)

    def mod_over(tables):
        return lambda s, b, h, q, kv: mods(s, b, h, q, kv, *tables)

    ours = lambda q, k, v, *t: flex_attention(q, k, v, mod_over(t), mask_mod=mask)  # noqa: E731
    plain = lambda q, k, v, *t: dense(q, k, v, mod_over(t), mask)[0]  # noqa: E731
    eager = lambda q, k, v, *t: dense(q, k, v, mod_over(t), mask, wide=dtype)[0]  # noqa: E731
    tensors = (q, k, v, *learned)
    exact = [t.double() for t in tensors]
    runs = [
        gradients(attend, leaves(given), up)
        for attend, given in ((ours, tensors), (plain, exact), (plain, tensors), (eager, tensors))
    ]
    assert_near(*[run[0] for run in runs])
    found = list(zip(*runs))[1:]
    assert all(g[0].dtype == dtype and g[0].shape == g[1].shape for g in found)
    for gradient in found[:3]:
        assert_near(*gradient, factor=3.0)
    for gradient, terms in zip(found[3:], sizes_of_terms(exact, mod_over, mask, up)):
        assert_sum_near(*gradient, terms)


@pytest.mark.parametrize("S", [37, 256, 277])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, S):
    shape, mod = KINDS[kind](S)
    compare(S, SINGLE, mod, [shape])


@pytest.mark.parametrize("dtype", [LEARNING, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", ["relative by head", "absolute", "multiplied", "head gate"])
def test_dtypes(kind, dtype):
    shape, mod = KINDS[kind](70)
    compare(70, dtype, mod, [shape], mask=lambda b, h, q, kv: q >= kv)


def test_a_bias_read_through_a_table_of_integers():
    bucket = torch.randint(0, 12, (H, 90))
    compare(90, SINGLE, lambda s, b, h, q, kv, t: s + t[h, bucket[h, kv]], [(H, 12)])


def test_two_biases_of_their_own():
    compare(
        61, SINGLE, lambda s, b, h, q, kv, first, second: s * second[h].sigmoid() + first[h, q],
        [(H, 61), (H,)],
    )  # fmt: skip


def test_only_the_bias_is_learned():
    q, k, v = operands(B=2, H=H, S=64, D=16, dtype=LEARNING)
    bias = torch.randn(H, 64, dtype=LEARNING, requires_grad=True)
    mod = lambda s, b, h, q, kv: s + bias[h, kv]  # noqa: E731
    (got,) = torch.autograd.grad(flex_attention(q, k, v, mod).square().sum(), bias)
    (want,) = torch.autograd.grad(dense(q, k, v, mod)[0].square().sum(), bias)
    same(got, want, 1e-11, 1e-9)


def test_views_of_one_tensor_share_its_gradient():
    base = torch.randn(3 * H, 64, dtype=LEARNING, requires_grad=True)
    q, k, v = operands(B=2, H=H, S=64, D=16, dtype=LEARNING)
    found = []
    for attend in (flex_attention, lambda *given: dense(*given)[0]):
        first, second, third = base.chunk(3)
        out = attend(q, k, v, lambda s, b, h, q, kv: (s + first[h, q]) * second[h, kv] + third[h, 0])
        found.append(torch.autograd.grad(out.square().sum(), base)[0])
    same(*found, 1e-11, 1e-9)


def test_a_bias_made_by_a_module_inside_a_compiled_step():
    layer = torch.nn.Linear(8, 2 * 64, dtype=LEARNING)
    q, k, v = leaves(operands(B=2, H=H, S=64, D=16, dtype=LEARNING))
    x = torch.randn(H, 8, dtype=LEARNING)

    def step(attend):
        table = layer(x)
        return attend(q, k, v, lambda s, b, h, i, j: s + table[h, i - j + 64]).square().sum()

    compiled = torch.compile(lambda: step(flex_attention), backend="aot_eager", fullgraph=True)
    got = torch.autograd.grad(compiled(), (q, layer.weight))
    want = torch.autograd.grad(step(lambda *given: dense(*given)[0]), (q, layer.weight))
    for a, b in zip(got, want):
        same(a, b, 1e-10, 1e-8)
