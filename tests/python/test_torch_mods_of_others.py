"""Mods as people write them, in the forms that public code has them: each against the dense computation."""

import functools
import math

import numpy as np
import pytest
import torch
from dense_torch import dense, gradients, operands, same
from devices import DEVICE, LEARNING, ON_GPU

import tilewright as tw
from tilewright.torch import AuxRequest, and_masks, create_block_mask, flex_attention, or_masks

S, H = 64, 4
CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def check(score=None, mask=None, captures=(), sizes=None, plain=None, **options):
    """Outputs and gradients beside dense; `plain` are the mods as dense torch takes them, where they differ.
    torch computes integers times fractions in fp32, which bounds how near they can be."""
    near = (1e-9, 1e-7) if score is None else (2e-5, 2e-5)
    inputs = operands(**{"B": 2, "H": H, "S": S, "D": 16, **(sizes or {})})
    out = flex_attention(*inputs, score, mask_mod=mask, enable_gqa=True, **options)
    want, _ = dense(*inputs, *(plain or (score, mask)))
    same(out, want, *near)
    up = torch.randn_like(out)
    tracked = (*inputs, *captures)
    for a, b in zip(gradients(out, tracked, up), gradients(want, tracked, up)):
        assert a.shape == b.shape and a.dtype == b.dtype
        same(a, b, *near)
    return out


def document_masks():
    lengths = {"doc": [20, 1, 30, 13], "prefix": [5, 1, 7, 0]}
    ids = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths["doc"]))
    table = {"ids": ids, "offsets": torch.tensor([0, 20, 21, 51]), "prefix": torch.tensor(lengths["prefix"])}

    def mask(b, h, q, kv):
        d = table["ids"]
        local_kv = kv - table["offsets"][d[kv]]
        return (d[q] == d[kv]) & ((q >= kv) | (local_kv < table["prefix"][d[q]]))

    return mask


def natten(side, kernel):
    def mask(b, h, q, kv):
        qx, qy = q // side, q % side
        kx, ky = kv // side, kv % side
        cx = qx.clamp(kernel // 2, (side - 1) - kernel // 2)
        cy = qy.clamp(kernel // 2, (side - 1) - kernel // 2)
        return ((cx - kx).abs() <= kernel // 2) & ((cy - ky).abs() <= kernel // 2)

    mask.__name__ = f"natten_{side}_k{kernel}"
    return mask


def sliding_tile(side, tile, window):
    def mask(b, h, q, kv):
        tile_q, tile_kv = (
            (x // (tile * tile) // (side // tile), x // (tile * tile) % (side // tile)) for x in (q, kv)
        )
        center = [torch.clamp(t, window // 2, side // tile - 1 - window // 2) for t in tile_q]
        near = [torch.abs(c - t) <= window // 2 for c, t in zip(center, tile_kv)]
        return near[0] & near[1]

    return mask


class Alibi(torch.nn.Module):
    """Slopes in a buffer, a learned scale in a parameter."""

    def __init__(self):
        super().__init__()
        self.register_buffer("slopes", torch.tensor([2 ** (-8 * (i + 1) / H) for i in range(H)]))
        self.gain = torch.nn.Parameter(torch.tensor(0.75, dtype=LEARNING))

    def forward(self, score, b, h, q_idx, kv_idx):
        return score + self.gain * self.slopes[h] * (kv_idx - q_idx)


DOC = torch.arange(S) // 11
MASKS = {
    "documents in a dict": document_masks(),
    "neighbourhood": natten(8, 3),
    "sliding tile": sliding_tile(8, 2, 3),
    "dilated": lambda b, h, q, kv: (q >= kv) & ((q - kv) % 4 == 0),
    "strided or local": or_masks(lambda b, h, q, kv: (q - kv).abs() < 3, lambda b, h, q, kv: (kv % 16) == 15),
    "joined by name": and_masks(CAUSAL, lambda b, h, q, kv: DOC[q] == DOC[kv]),
    "int32": lambda b, h, q, kv: DOC.int()[q] == DOC.int()[kv],
    "int16": lambda b, h, q, kv: DOC.to(torch.int16)[q] >= DOC.to(torch.int16)[kv],
    "uint8": lambda b, h, q, kv: DOC.to(torch.uint8)[q] == DOC.to(torch.uint8)[kv],
    "by attention type": lambda b, h, q, kv: torch.where(h < 2, q >= kv, (q - kv).abs() <= 8),
    "a number beyond 32 bits": lambda b, h, q, kv: (kv * (2**33) <= q * (2**33)) & (q + 2**40 > kv),
    "numpy scalars": lambda b, h, q, kv: (q - kv < np.int64(9)) & (q >= kv * np.float32(1.0)),
    "sink and window": lambda b, h, q, kv: (q >= kv) & ((q - kv <= 16) | (kv < 4)),
    "chunked": lambda b, h, q, kv: (q // 16 == kv // 16) & (q >= kv),
    "python logic": lambda b, h, q, kv: q >= kv and (h != 1 or q - kv < 7),
    "chained comparison": lambda b, h, q, kv: 0 <= q - kv < 12,
    "logical functions": lambda b, h, q, kv: torch.logical_and(q >= kv, torch.logical_not(torch.eq(q % 5, kv % 7))),
    "bits": lambda b, h, q, kv: ((q ^ kv) & 3) == 0,
    "a table of pairs by slices": lambda b, h, q, kv: (DOC[:, None] == DOC[None, :])[q, kv],
    "all of a constant": lambda b, h, q, kv: True,
    "a 0-d bool": lambda b, h, q, kv: (q >= kv) & torch.tensor(True),
}
PLAIN = {
    "python logic": lambda b, h, q, kv: (q >= kv) & ((h != 1) | (q - kv < 7)),
    "chained comparison": lambda b, h, q, kv: (q - kv >= 0) & (q - kv < 12),
    "all of a constant": lambda b, h, q, kv: torch.ones_like(q + kv, dtype=torch.bool),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    check(None, MASKS[name], plain=(None, PLAIN.get(name, MASKS[name])))


@pytest.mark.parametrize("name", ["documents in a dict", "neighbourhood", "joined by name", "python logic"])
@pytest.mark.parametrize("block", [(128, 64), (64, 128), 32], ids=str)
def test_masks_in_blocks(name, block):
    made = create_block_mask(MASKS[name], 1, H, S, S, device=DEVICE, BLOCK_SIZE=block)
    assert made.kv_num_blocks.shape[-1] == -(-S // made.BLOCK_SIZE[0])
    inputs = operands(B=2, H=H, S=S, D=16, grad=False)
    same(flex_attention(*inputs, block_mask=made), dense(*inputs, None, PLAIN.get(name, MASKS[name]))[0])


def test_a_compiled_block_mask_warns_and_is_the_same():
    with pytest.warns(DeprecationWarning, match="_compile"):
        made = create_block_mask(CAUSAL, None, None, S, S, device=DEVICE, _compile=True, BLOCK_SIZE=(128, 64))
    inputs = operands(B=2, H=H, S=S, D=16, grad=False)
    same(flex_attention(*inputs, block_mask=made), dense(*inputs, None, CAUSAL)[0])


def test_slices_of_slices():
    made = create_block_mask(lambda b, h, q, kv: q + 3 * b >= kv + h, 2, H, S, S, device=DEVICE, BLOCK_SIZE=16)
    part = made[:, 1:3][1:2, :, 1:][:, 1, 1:3]
    q, k, v = operands(B=1, H=1, S=32, KV=S, D=16, grad=False)
    want = dense(q, k, v, None, lambda b, h, i, j: i + 32 + 3 >= j + 2)[0]
    same(flex_attention(q, k, v, block_mask=part), want)


TABLE = torch.randn(H, S, S)
NARROW = torch.randn(H, S).bfloat16()
SCORES = {
    "minus infinity": lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")),
    "minus infinity as a tensor": lambda s, b, h, q, kv: torch.where(q >= kv, s, torch.tensor(float("-inf"))),
    "the lowest number": lambda s, b, h, q, kv: torch.where(q >= kv, s, torch.finfo(s.dtype).min),
    "numpy scalars": lambda s, b, h, q, kv: s * np.float32(0.5) + np.int32(2) - np.float64(math.pi),
    "a table not contiguous": lambda s, b, h, q, kv: s + TABLE.transpose(1, 2)[h, q, kv],
    "every other entry": lambda s, b, h, q, kv: s + TABLE[:, ::2, 1::2][h, q // 2, kv // 2],
    "expanded": lambda s, b, h, q, kv: s + TABLE[:1].expand(H, S, S)[h, q, kv],
    "narrow": lambda s, b, h, q, kv: s + NARROW[h, q].float() * NARROW[h, kv],
    "soft cap": lambda s, b, h, q, kv: torch.tanh(s.div(20.0)).mul(20.0),
    "division": lambda s, b, h, q, kv: s / (1 + (q - kv).abs()) ** 0.5,
    "power": lambda s, b, h, q, kv: s * 0.97 ** (q - kv).abs(),
    "exponent": lambda s, b, h, q, kv: s - torch.pow(2.0, -0.5 * (h + 1)) * (q - kv).abs(),
    "min of many": lambda s, b, h, q, kv: torch.minimum(s, 4 - (q - kv).abs() * 0.01),
    "in place spelling": lambda s, b, h, q, kv: s.masked_fill(q < kv, float("-inf")),
    "floats of bools": lambda s, b, h, q, kv: s + (q >= kv).float() * 2 - (h == 1).to(s.dtype),
    "a sum of python": lambda s, b, h, q, kv: s + sum((q - kv) % n == 0 for n in (2, 3, 5)) * 0.25,
    "max and min": lambda s, b, h, q, kv: s + torch.maximum(q, kv) * 0.01 - torch.min(q, kv) * 0.01,
}


@pytest.mark.parametrize("name", SCORES)
def test_scores(name):
    check(SCORES[name], plain=(lambda *a: SCORES[name](*a) + 0 * a[0], None))


def test_a_module_with_buffers_and_parameters():
    alibi = Alibi()
    check(alibi, CAUSAL, (alibi.gain,))
    check(alibi.forward, CAUSAL, (alibi.gain,))


def test_partials_of_partials_and_wrappers():
    def base(table, scale, s, b, h, q, kv, *, shift=0.0):
        return s + scale * table[h, q, kv] + shift

    mod = functools.partial(functools.partial(base, TABLE), 0.5, shift=0.25)
    check(mod)

    @functools.wraps(base)
    def wrapped(s, b, h, q, kv):
        return mod(s, b, h, q, kv)

    del wrapped.__wrapped__
    check(wrapped)


def test_a_mod_that_torch_compile_wraps():
    compiled = torch.compile(lambda s, b, h, q, kv: s + TABLE[h, q, kv])
    check(compiled, plain=(lambda s, b, h, q, kv: s + TABLE[h, q, kv], None))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_learned_tables_of_any_dtype(dtype):
    bias = torch.randn(H, S, dtype=dtype, requires_grad=True)
    inputs = operands(B=2, H=H, S=S, D=16)
    mod = lambda s, b, h, q, kv: s + bias[h, kv]  # noqa: E731
    up = torch.randn_like(inputs[0])
    got, want = (torch.autograd.grad(f, bias, up.to(f.dtype))[0]
                 for f in (flex_attention(*inputs, mod), dense(*inputs, mod)[0]))  # fmt: skip
    assert got.dtype == dtype
    torch.testing.assert_close(got, want, atol=2e-2 * want.abs().max().item(), rtol=2e-2)


def test_latent_attention():
    """Rotary part of the score as a bias by rows, one latent key head shared by all."""
    rope_q, rope_k = (torch.randn(2, h, S, 8, dtype=LEARNING, requires_grad=True) for h in (H, 1))
    check(
        lambda s, b, h, q, kv: s + torch.sum(rope_q[b, h, q] * rope_k[b, 0, kv], -1) * 0.2
        if isinstance(s, tw.Score)
        else s + (rope_q @ rope_k.mT) * 0.2,
        CAUSAL, (rope_q, rope_k), {"Hkv": 1, "D": 32, "Dv": 32},
    )  # fmt: skip


@pytest.mark.parametrize("heads", [(4, 1), (4, 2), (6, 2)])
def test_grouped_heads_of_a_broadcast_mask(heads):
    made = create_block_mask(CAUSAL, None, None, S, S, device=DEVICE)
    inputs = operands(B=3, H=heads[0], Hkv=heads[1], S=S, D=16)
    out, aux = flex_attention(*inputs, block_mask=made, enable_gqa=True, return_aux=AuxRequest(lse=True, max_scores=True))
    want, lse = dense(*inputs, None, CAUSAL)
    same(out, want)
    same(aux.lse, lse)
    assert aux.max_scores.shape == (3, heads[0], S)


OPTIONS = [
    {"num_warps": 4, "num_stages": 3}, {"BLOCK_M": 64, "BLOCK_N": 32}, {"PRESCALE_QK": True},
    {"BLOCK_M1": 32, "BLOCK_N1": 32, "BLOCK_M2": 32, "BLOCK_N2": 32}, {"ROWS_GUARANTEED_SAFE": True},
    {"BLOCKS_ARE_CONTIGUOUS": True}, {"WRITE_DQ": False}, {"FORCE_USE_FLEX_ATTENTION": True}, {"USE_TMA": True},
    {"fwd_BLOCK_M": 64, "bwd_BLOCK_M1": 32}, {"kpack": 2, "matrix_instr_nonkdim": 16, "waves_per_eu": 2},
    {"BACKEND": "TRITON"}, {"BACKEND": "TRITON_DECODE"}, {},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_kernel_options_change_nothing(options):
    inputs = operands(B=1, H=2, S=S, D=16, grad=False)
    want = flex_attention(*inputs, mask_mod=CAUSAL)
    assert torch.equal(flex_attention(*inputs, mask_mod=CAUSAL, kernel_options=options), want)


def test_randomness_is_refused_by_its_name():
    for mod in (lambda s, b, h, q, kv: torch.nn.functional.dropout(s, 0.1),
                lambda s, b, h, q, kv: torch.where(torch.rand_like(s) < 0.1, 0.0, s),
                lambda s, b, h, q, kv: s * torch.bernoulli(s)):  # fmt: skip
        with pytest.raises(tw.TraceError, match="dropout|rand|bernoulli"):
            flex_attention(*operands(grad=False), mod)


def test_what_cannot_be_traced_names_its_construct():
    bad = {
        "item": lambda s, b, h, q, kv: s + q.item(),
        r"float\(\)": lambda s, b, h, q, kv: s * math.exp(q),
        "range": lambda s, b, h, q, kv: sum(s for _ in range(q)),
        "matmul": lambda s, b, h, q, kv: torch.matmul(s, s),
    }
    for text, mod in bad.items():
        with pytest.raises(tw.TraceError, match=text):
            flex_attention(*operands(grad=False), mod)


@pytest.mark.skipif(not ON_GPU, reason="one device here")
def test_a_table_on_another_device_is_named():
    far = torch.zeros(S, dtype=torch.int32, device="cpu")
    with pytest.raises(tw.InvalidArgumentError, match="far"):
        flex_attention(*operands(S=S, grad=False), mask_mod=lambda b, h, q, kv: far[q] == far[kv])
