"""Situations from public bug reports that Python users met, retold: each is a test of what is right."""

import pytest
import torch
from dense_torch import same
from devices import DEVICE, LEARNING, ON_GPU
from flex_reference import check, dense, leaves, operands

import tilewright as tw
from tilewright.torch import create_block_mask, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def test_a_growing_cache_with_its_offset_in_a_tensor():
    """C015, C050: keys grow by one, the offset is a tensor of rank 0 or 1 that is updated in place."""
    for offset in (torch.tensor(0, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)):
        at = (lambda: offset) if offset.dim() == 0 else (lambda: offset[0])
        mask = lambda b, h, q, kv: q + at() >= kv  # noqa: E731
        for kv_len in range(128, 140):
            offset.fill_(kv_len - 1)
            q, k, v = operands(B=1, H=4, S=1, KV=kv_len, D=64, dtype=torch.float16)
            k, v = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (k, v))
            check(q, k, v, None, mask, gradients=False)


def test_tables_exactly_as_long_as_the_sequence():
    """C016: positions past the end are never asked for."""
    seen = torch.rand(2046) < 0.5
    q, k, v = operands(B=1, H=1, S=2046, D=8)
    mask = lambda b, h, q, kv: seen[q] & (q >= kv)  # noqa: E731
    made = create_block_mask(mask, 1, 1, 2046, 2046, device=DEVICE)
    assert made.kv_num_blocks.shape == (1, 1, 16)
    check(q, k, v, None, mask, gradients=False)


@pytest.mark.parametrize("lengths", [(63, 64), (64, 50), (100, 77)], ids=str)
def test_a_dense_mask_of_odd_lengths(lengths):
    """C019."""
    keep = torch.rand(8, *lengths) < 0.4
    check(*operands(B=1, H=8, Hkv=4, S=lengths[0], KV=lengths[1], D=64), None, lambda b, h, q, kv: keep[h, q, kv])


def test_lengths_that_forward_takes_backward_takes():
    """C021."""
    check(*operands(B=1, H=1, S=1050, D=8), None, lambda b, h, q, kv: (q >= kv) & (q - kv < 100))


def test_chunks_with_context_to_the_left():
    """C034."""
    mask = lambda b, h, q, kv: (q // 24 - kv // 24 >= 0) & (q // 24 - kv // 24 <= 2)  # noqa: E731
    check(*operands(B=1, H=4, S=500, D=16), None, mask, block=128)


def test_a_head_that_sees_nothing():
    """C037."""
    q, k, v = operands(B=1, H=32, S=8, D=128, dtype=torch.bfloat16)
    out = check(q, k, v, None, lambda b, h, q, kv: (h > 0) & (q >= kv), block=128, batch_mask=(1, 32))
    assert (out[:, 0] == 0).all()


def test_groups_of_six():
    """C039."""
    check(*operands(B=1, H=12, Hkv=2, S=1, KV=4096, D=16), None, lambda b, h, q, kv: kv % 3 != 0, gradients=False)


def test_mods_get_the_query_head():
    """C041: a factor for each of eight query heads on two key heads."""
    factors = torch.linspace(0.2, 2.0, 8)
    check(*operands(B=2, H=8, Hkv=2, S=33, D=16), lambda s, b, h, q, kv: s * factors[h], CAUSAL)


def test_a_subscript_that_only_live_pairs_may_use():
    """C044, C046: a table one entry short is right behind its guard, and an error that names it without."""
    table = torch.arange(127)
    q, k, v = operands(B=1, H=1, S=128, D=8)
    mask = lambda b, h, q, kv: (kv < 127) & (kv <= q)  # noqa: E731
    got = flex_attention(q, k, v, lambda s, b, h, q, kv: s + table[kv] * 0.01, mask_mod=mask)
    want, _ = dense(q, k, v, lambda s, b, h, q, kv: s + kv * 0.01, mask)
    torch.testing.assert_close(got, want, atol=2e-6, rtol=2e-5)
    if ON_GPU:
        return  # reads 0 there: errors are for its checked mode
    with pytest.raises(tw.IndexOutOfRangeError, match="table"):
        flex_attention(q, k, v, lambda s, b, h, q, kv: s + table[kv] * 0.01)


def test_many_pairs_share_an_entry():
    """C052."""
    table = torch.randn(48, dtype=LEARNING, requires_grad=True)
    q, k, v = operands(B=2, H=2, S=24, D=8, dtype=LEARNING)
    mod = lambda s, b, h, q, kv: s + table[q - kv + 24]  # noqa: E731
    got, want = (torch.autograd.grad(out.square().sum(), table)[0]
                 for out in (flex_attention(q, k, v, mod), dense(q, k, v, mod)[0]))  # fmt: skip
    same(got, want, 1e-11, 1e-9)


def test_a_learned_number():
    """C053: a tensor of rank 0."""
    factor = torch.tensor(0.7, dtype=LEARNING, requires_grad=True)
    q, k, v = operands(B=1, H=2, S=128, D=16, dtype=LEARNING)
    mod = lambda s, b, h, q, kv: s * factor  # noqa: E731
    got, want = (torch.autograd.grad(out.square().sum(), factor)[0]
                 for out in (flex_attention(q, k, v, mod), dense(q, k, v, mod)[0]))  # fmt: skip
    assert got.shape == ()
    same(got, want, 1e-11, 1e-9)


def test_literal_subscripts_of_axes_of_one():
    """C060: a bias (1, H, 1, S), subscripted with zeros."""
    bias = torch.randn(1, 4, 1, 40, dtype=LEARNING, requires_grad=True)
    q, k, v = operands(B=2, H=4, S=40, D=8, dtype=LEARNING)
    out = flex_attention(q, k, v, lambda s, b, h, q, kv: s + bias[0, h, 0, kv])
    want, _ = dense(q, k, v, lambda s, b, h, q, kv: s + bias)
    got, expected = (torch.autograd.grad(o.square().sum(), bias)[0] for o in (out, want))
    assert got.shape == bias.shape
    same(got, expected, 1e-11, 1e-9)


def test_the_number_of_heads_changes_between_calls():
    """C062."""
    for heads in (2, 4, 8, 2):
        scale = torch.randn(heads, dtype=LEARNING, requires_grad=True)
        q, k, v = operands(B=1, H=heads, S=20, D=8, dtype=LEARNING)
        mod = lambda s, b, h, q, kv: s * scale[h]  # noqa: E731
        got, want = (torch.autograd.grad(out.square().sum(), scale)[0]
                     for out in (flex_attention(q, k, v, mod), dense(q, k, v, mod)[0]))  # fmt: skip
        same(got, want, 1e-11, 1e-9)


def test_floor_division_and_remainder_of_negative_positions():
    """C063."""
    t, w, o = 64, 4, 4
    mask = lambda b, h, q, kv: ((q - o - t) // w == (kv - o - t) // w) & ((q - t) % w != (kv - t - 1) % w)  # noqa: E731
    check(*operands(B=1, H=2, S=192, D=16), None, mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("function", [torch.log, torch.sin, torch.cos, torch.exp], ids=lambda f: f.__name__)
def test_functions_of_narrow_captures(function, dtype):
    """C065."""
    number = torch.tensor([1.5], dtype=dtype)
    q, k, v = operands(B=1, H=1, S=40, D=16, dtype=dtype)
    exact = function(number.double())
    out = flex_attention(q, k, v, lambda s, b, h, q, kv: s * function(number[0]))
    want, _ = dense(*[t.double() for t in (q, k, v)], lambda s, b, h, q, kv: s * exact[0])
    ref, _ = dense(q, k, v, lambda s, b, h, q, kv: s * exact[0].float())
    assert (out.double() - want).abs().max() <= 2 * (ref.double() - want).abs().max() + 8e-3 * want.abs().max()


def test_a_score_that_ignores_its_argument():
    """C071: query and key get exactly zero, value its gradient."""
    near = torch.rand(30, 30, dtype=LEARNING)
    q, k, v = leaves(operands(B=1, H=1, S=30, D=8, dtype=LEARNING))
    out = flex_attention(q, k, v, lambda s, b, h, i, j: near[i, j])
    got = torch.autograd.grad(out.square().sum(), (q, k, v))
    assert (got[0] == 0).all() and (got[1] == 0).all() and got[2].abs().sum() > 0


def test_a_table_of_bools_is_a_number_in_a_score():
    """C076: true adds one."""
    table = torch.rand(30, 30) < 0.5
    check(*operands(B=1, H=2, S=30, D=8), lambda s, b, h, q, kv: s + table[q, kv])
