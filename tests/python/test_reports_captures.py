"""What went wrong for others, by its id: captured tensors, their gradients, and what mods mean."""

import functools

import pytest
import torch
from dense_torch import dense, gradients, operands, same
from devices import DEVICE, LEARNING, ON_GPU

import tilewright as tw
from tilewright.torch import create_mask, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def check(score=None, mask=None, captures=(), sizes=None, **options):
    """Forward and every gradient beside the dense computation in fp64."""
    q, k, v = operands(**(sizes or {}))
    out, want = flex_attention(q, k, v, score, mask_mod=mask, **options), dense(q, k, v, score, mask)[0]
    same(out, want)
    up = torch.randn_like(out)
    inputs = (q, k, v, *captures)
    for a, b in zip(gradients(out, inputs, up), gradients(want, inputs, up)):
        if b is not None:
            assert a.shape == b.shape
            same(a, b)
    return out


def test_C044_dead_lanes_read_nothing():
    table = torch.arange(127)
    q, k, v = operands(S=128)
    score = lambda s, b, h, i, j: s + table[j]  # noqa: E731
    mask = lambda b, h, i, j: (j < 127) & (j <= i)  # noqa: E731
    padded = torch.cat([table, torch.zeros(1, dtype=torch.long)])
    out = flex_attention(q, k, v, score, mask_mod=mask)
    want = dense(q, k, v, lambda s, b, h, i, j: s + padded[j], mask)[0]
    same(out, want)
    for a, b in zip(gradients(out, (q, k, v)), gradients(want, (q, k, v))):
        same(a, b)


@pytest.mark.cpu_only("a GPU reads 0 there: errors are for its checked mode")
def test_C046_a_table_that_is_too_short_is_named():
    documents = torch.zeros(240, dtype=torch.int32)
    q, k, v = operands(S=256, grad=False)
    with pytest.raises(tw.IndexOutOfRangeError, match="documents"):
        flex_attention(q, k, v, mask_mod=lambda b, h, i, j: documents[i] == documents[j])
    flex_attention(q, k, v, mask_mod=CAUSAL)


@pytest.mark.cpu_only("a GPU reads 0 there: errors are for its checked mode")
def test_C049_h_past_the_end_is_named():
    documents = torch.zeros(2, 1, 16, dtype=torch.int32)
    q, k, v = operands(B=2, H=8, S=16, grad=False)
    with pytest.raises(tw.IndexOutOfRangeError, match="documents"):
        flex_attention(q, k, v, mask_mod=lambda b, h, i, j: documents[b, h, i] == documents[b, h, j])


@pytest.mark.parametrize("shape", [(), (1,)])
def test_C050_offsets_of_rank_0_and_of_one_element(shape):
    offset = torch.full(shape, 5)
    check(lambda s, b, h, i, j: s * (1 + offset * 0.125), lambda b, h, i, j: i + offset >= j)


def test_C051_nested_subscripts():
    table, places = torch.randn(40, dtype=LEARNING, requires_grad=True), torch.randperm(40)
    check(lambda s, b, h, i, j: s + table[places[i]] * table[places[j]], None, (table,))
    pairs = torch.randn(40, 40, dtype=LEARNING, requires_grad=True)
    twice = lambda s, b, h, i, j: s + (pairs[i][j] if isinstance(s, tw.Score) else pairs[i, j])  # noqa: E731
    check(twice, None, (pairs,))


def test_C052_many_lanes_hit_one_entry():
    table = torch.randn(48, dtype=LEARNING, requires_grad=True)
    check(lambda s, b, h, i, j: s + table[i - j + 24], None, (table,), {"B": 2, "S": 24})
    q, k, v = operands(B=2, S=24)
    (grad,) = torch.autograd.grad(
        flex_attention(q, k, v, lambda s, b, h, i, j: s + table[i - j + 24]).square().sum(), table
    )
    assert abs(grad.sum()) < (1e-1 if ON_GPU else 1e-9) and grad[0] == 0


def test_C053_a_learnable_scalar():
    factor = torch.tensor(0.75, dtype=LEARNING, requires_grad=True)
    check(lambda s, b, h, i, j: s * factor, None, (factor,), {"S": 64})


def test_C056_an_unused_capture():
    unused = torch.randn(2, dtype=LEARNING, requires_grad=True)
    q, k, v = operands()
    out = flex_attention(q, k, v, lambda s, b, h, i, j: (unused[h] * 2, s)[1])
    out.sum().backward()
    assert unused.grad is None or (unused.grad == 0).all()
    same(q.grad, gradients(dense(q, k, v)[0], (q,))[0])


def test_C058_gradients_reach_what_made_the_bias():
    linear = torch.nn.Linear(4, 20, dtype=LEARNING)
    x = torch.randn(2, 2, 20, 4, dtype=LEARNING)
    bias = linear(x)
    check(lambda s, b, h, i, j: s + bias[b, h, i, j], None, (bias,), {"B": 2, "S": 20})
    q, k, v = operands(B=2, S=20)
    flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[b, h, i, j]).square().sum().backward()
    assert linear.weight.grad.abs().sum() > 0


def test_C059_a_dot_of_captured_rows():
    left, right = (torch.randn(1, h, 8, 16, dtype=LEARNING, requires_grad=True) for h in (4, 1))
    check(
        lambda s, b, h, i, j: s + 0.25 * torch.sum(left[b, h, i] * right[b, h // 4, j], -1)
        if isinstance(s, tw.Score)
        else s + 0.25 * (left @ right.mT),
        None, (left, right), {"H": 4, "S": 8},
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 1, 1, 20), (1, 2, 1, 20), (1, 1, 20, 20), (2, 1, 1, 20)])
def test_C060_broadcast_axes_are_summed(shape):
    bias = torch.randn(shape, dtype=LEARNING, requires_grad=True)
    at = lambda axis, index: index if shape[axis] > 1 else 0  # noqa: E731
    check(
        lambda s, b, h, i, j: s + bias[at(0, b), at(1, h), at(2, i), j], None, (bias,), {"B": 2, "S": 20}
    )  # fmt: skip


def test_C062_the_number_of_heads_changes():
    for heads in (2, 4, 8, 2):
        scale = torch.rand(heads, dtype=LEARNING, requires_grad=True)
        check(lambda s, b, h, i, j: s * scale[h], CAUSAL, (scale,), {"H": heads, "S": 20})


def test_C063_division_of_negative_positions_rounds_down():
    t, w, o = 64, 4, 4
    mask = lambda b, h, i, j: ((i - o - t) // w == (j - o - t) // w) & ((i - t) % w != (j - t - 1) % w)  # noqa: E731
    assert int(create_mask(mask, 1, 1, 192, 192, device=DEVICE).sum()) == 576
    check(None, mask, (), {"S": 192})


@pytest.mark.parametrize("name", ["log", "sin", "cos", "exp", "sqrt", "tanh"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_C065_functions_of_half_captures(name, dtype):
    m = torch.tensor([1.0], dtype=dtype)
    q, k, v = operands(S=20, grad=False)
    got = flex_attention(q, k, v, lambda s, b, h, i, j: s * getattr(torch, name)(m[b]))
    value = getattr(torch, name)(torch.tensor(1.0, dtype=LEARNING))
    same(got, dense(q, k, v, lambda s, *_: s * value)[0], 1e-6, 1e-6)


FUNCTIONS = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "exp": lambda s: torch.exp(-s.abs()),
    "log1p": lambda s: torch.log1p(s.abs()), "abs": torch.abs, "square": torch.square,
    "sqrt": lambda s: torch.sqrt(s * s + 1), "rsqrt": lambda s: torch.rsqrt(s * s + 1), "sin": torch.sin,
    "cos": torch.cos, "erf": torch.erf, "exp2": lambda s: torch.exp2(-s * s), "relu": torch.relu,
    "gelu": torch.nn.functional.gelu, "softplus": torch.nn.functional.softplus,
    "rational": lambda s: 1 / (1 + s * s), "min": lambda s: torch.clamp(s, max=0.3),
    "max": lambda s: torch.clamp(s, min=-0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_C066_functions_and_their_derivatives(name):
    check(lambda s, b, h, i, j: FUNCTIONS[name](s), CAUSAL, (), {"S": 24})


def test_C067_clamp_and_minimum_differ_at_a_tie():
    scores = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], dtype=LEARNING)
    k, v = scores.reshape(1, 1, 5, 1), torch.eye(5, dtype=LEARNING)[None, None]
    q = torch.ones(1, 1, 1, 1, dtype=LEARNING)

    def slope(score):
        key = k.clone().requires_grad_()
        out = flex_attention(q, key, v, score, scale=1.0)
        p = dense(q, k, v, lambda s, *_: s.clamp(-1, 1), scale=1.0)[0].reshape(-1)
        up = torch.zeros_like(out)
        up[..., 4] = 1.0
        (grad,) = torch.autograd.grad(out, key, up)
        return grad.reshape(-1) / (p * ((torch.arange(5) == 4).double() - p[4]))

    same(slope(lambda s, b, h, i, j: s.clamp(-1, 1)), torch.tensor([0.0, 1, 1, 1, 0]))
    halves = slope(lambda s, b, h, i, j: torch.minimum(torch.maximum(s, s * 0 - 1), s * 0 + 1))
    same(halves, torch.tensor([0.0, 0.5, 1, 0.5, 0]))


def test_C069_storing_a_score_is_refused():
    outer = torch.zeros(4)

    def mod(s, b, h, i, j):
        outer[0] = s
        return s

    with pytest.raises(tw.TraceError, match="pure"):
        flex_attention(*operands(), mod)
    assert (outer == 0).all()


def test_C071_scores_that_ignore_the_score():
    allowed = torch.rand(20, 20, dtype=LEARNING)
    q, k, v = operands(S=20)
    out = flex_attention(q, k, v, lambda s, b, h, i, j: torch.where(allowed[i, j] > 0.5, 0.0, 1.0))
    grads = gradients(out, (q, k, v))
    assert (grads[0] == 0).all() and (grads[1] == 0).all()
    want = dense(q, k, v, lambda s, b, h, i, j: torch.where(allowed > 0.5, 0.0, 1.0).double().expand_as(s))[0]
    same(grads[2], gradients(want, (v,))[0])


def test_C073_callables_of_every_kind_mean_the_same():
    class Owner:
        def __init__(self):
            self.width, self.unread = 5, torch.randn(1000)

        def __call__(self, b, h, i, j):
            return (i - j).abs() < self.width

        def bound(self, b, h, i, j):
            return (i - j).abs() < self.width

        @staticmethod
        def static(b, h, i, j):
            return (i - j).abs() < 5

    def outer(width):
        def inner():
            return lambda b, h, i, j: (i - j).abs() < width

        return inner()

    owner = Owner()
    partial = functools.partial(lambda width, b, h, i, j: (i - j).abs() < width, 5)
    q, k, v = operands(grad=False)
    spellings = [owner, owner.bound, Owner.static, outer(5), lambda b, h, i, j: (i - j).abs() < 5, partial]
    results = [flex_attention(q, k, v, mask_mod=spelling) for spelling in spellings]
    assert all(torch.equal(results[0], other) for other in results)


@pytest.mark.parametrize("cap", [15.0, 0.5])
def test_C075_soft_caps_are_bounded(cap):
    q, k, v = operands(S=24)
    score = lambda s, b, h, i, j: cap * torch.tanh(s / cap)  # noqa: E731
    out, aux = flex_attention(q * 30, k * 2, v, score, return_aux=tw.torch.AuxRequest(max_scores=True))
    assert aux.max_scores.abs().max() <= cap
    written = flex_attention(q * 30, k * 2, v, tw.scores.softcap(cap))
    same(out, written, 1e-12)
    check(lambda s, b, h, i, j: cap * torch.tanh(20 * s / cap), None, (), {"S": 24})


def test_C076_truth_values_add_one():
    flags = torch.rand(20, 20) > 0.5
    check(lambda s, b, h, i, j: s + flags[i, j], None, (), {"S": 20})
