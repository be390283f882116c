"""tilewright.torch.flex_attention beside PyTorch's own, un-fused on the CPU."""

import itertools
import math

import numpy as np
import pytest
import torch
from dense import assert_close, assert_stats
from devices import DEVICE, WIDEST, generator
from torch.nn.attention import flex_attention as theirs

import tilewright as tw
from tilewright.torch import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """PyTorch's reference path: dense scores, nothing compiled."""
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    with torch.no_grad():
        yield


def operands(B=2, H=4, Hkv=None, S=130, KV=None, D=32, Dv=None, dtype=torch.float32):
    Hkv, KV, Dv = Hkv or H, KV or S, Dv or D
    return (
        torch.randn(B, H, S, D, dtype=dtype),
        torch.randn(B, Hkv, KV, D, dtype=dtype),
        torch.randn(B, Hkv, KV, Dv, dtype=dtype),
    )


def compare(q, k, v, score_mod=None, mask=None, *, mask_batch=None, **options):
    """Ours and theirs against theirs in fp64, by the tolerance of the semantics."""
    B, H = mask_batch or (q.size(0), q.size(1))
    sizes = (B, H, q.size(-2), k.size(-2))
    mine = create_block_mask(mask, *sizes, device=DEVICE) if mask else None
    other = theirs.create_block_mask(mask, *sizes, device=DEVICE) if mask else None
    out, aux = flex_attention(q, k, v, score_mod, mine, return_aux=AuxRequest(True, True), **options)
    wide = [t.double() for t in (q, k, v)]
    want, stats = theirs.flex_attention(
        *wide, score_mod, other, return_aux=theirs.AuxRequest(lse=True), **options
    )
    ref = theirs.flex_attention(q, k, v, score_mod, other, **options)
    name = str(q.dtype).removeprefix("torch.")
    assert out.dtype == q.dtype and out.shape == want.shape
    assert_close(out.double(), want, ref.double(), name)
    assert_stats(aux.lse, stats.lse, name)
    return out


S = 130
DOC = torch.arange(512) // 37
BIAS = torch.randn(4, S, S, generator=generator(1))
TABLE = torch.randn(2 * S, generator=generator(2))
HEAD = torch.rand(4, generator=generator(3))
OFFSET = torch.tensor(7)

MASKS = {
    "none": None,
    "causal": lambda b, h, q, kv: q >= kv,
    "offset": lambda b, h, q, kv: q + OFFSET >= kv,
    "window": lambda b, h, q, kv: (q >= kv) & (q - kv <= 20),
    "document": lambda b, h, q, kv: DOC[q] == DOC[kv],
    "prefix": lambda b, h, q, kv: (kv < 40) | (q >= kv),
    "dilated": lambda b, h, q, kv: ((q - kv).abs() <= 30) & ((q - kv).abs() % 3 == 0),
    "per head": lambda b, h, q, kv: torch.where(h % 2 == 0, q >= kv, q <= kv),
    "empty rows": lambda b, h, q, kv: (kv <= q) & ((q + h) % 4 != 3),
    "joined": and_masks(lambda b, h, q, kv: q >= kv, or_masks(noop_mask, lambda b, h, q, kv: kv == 0)),
}
SCORES = {
    "none": None,
    "soft cap": lambda s, b, h, q, kv: 5 * torch.tanh(s / 5),
    "squared": lambda s, b, h, q, kv: s * s,
    "relative": lambda s, b, h, q, kv: s + (q - kv),
    "alibi": lambda s, b, h, q, kv: s + (kv - q) * torch.exp2(-((h + 1) * 8.0 / 4)),
    "head scale": lambda s, b, h, q, kv: s * HEAD[h],
    "full bias": lambda s, b, h, q, kv: s + BIAS[h, q, kv],
    "relative table": lambda s, b, h, q, kv: s + TABLE[q - kv + S],
    "causal": lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")),
    "head bias": lambda s, b, h, q, kv: s + 2 * h,
    "distance": lambda s, b, h, q, kv: s * torch.sigmoid(-0.1 * (q - kv).abs().float()),
    "clamped": lambda s, b, h, q, kv: torch.clamp(s, -0.5, 0.5) + torch.minimum(s, s * 2),
}


@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask):
    compare(*operands(), None, MASKS[mask])


@pytest.mark.parametrize("score", SCORES)
def test_scores(score):
    compare(*operands(), SCORES[score])


@pytest.mark.parametrize("pair", list(itertools.product(["alibi", "relative table"], ["document", "window"])))
def test_pairs(pair):
    compare(*operands(), SCORES[pair[0]], MASKS[pair[1]])


@pytest.mark.parametrize("dtype", [WIDEST, torch.float16, torch.bfloat16])
def test_dtypes(dtype):
    compare(*operands(dtype=dtype), SCORES["soft cap"], MASKS["causal"])


@pytest.mark.parametrize("heads", [(4, 2), (4, 1), (12, 2), (5, 5)])
def test_grouped_heads(heads):
    compare(*operands(H=heads[0], Hkv=heads[1]), None, MASKS["causal"], enable_gqa=True)


@pytest.mark.parametrize("dims", [(64, 32), (32, 64), (17, 24), (94, 121), (31, 31), (1, 3), (8, 8)])
def test_head_dims(dims):
    compare(*operands(B=1, H=2, D=dims[0], Dv=dims[1]), None, MASKS["causal"])


@pytest.mark.parametrize("lengths", [(1, 1), (1, 300), (7, 130), (130, 7), (129, 257), (64, 50)])
def test_lengths(lengths):
    compare(*operands(B=1, H=2, S=lengths[0], KV=lengths[1]), SCORES["relative"], MASKS["window"])


@pytest.mark.parametrize("scale", [0.0, -0.3, 1.0, 2.0])
def test_scale(scale):
    compare(*operands(), None, MASKS["causal"], scale=scale)


def test_shared_keys_of_the_batch():
    q, k, v = operands(B=3)
    mask = create_block_mask(MASKS["causal"], 3, None, S, S, device=DEVICE)
    got = flex_attention(q, k[:1], v[:1], block_mask=mask)
    want = flex_attention(q, k[:1].expand(3, -1, -1, -1), v[:1].expand(3, -1, -1, -1), block_mask=mask)
    assert torch.equal(got, want)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 1, 0, 3), (1, 0, 2, 3)])
def test_output_has_the_stride_order_of_query(order):
    q, k, v = operands()
    stored = q.permute(*order).contiguous().permute(*(order.index(i) for i in range(4)))
    out = flex_attention(stored, k, v)
    ranks = [sorted(range(4), key=lambda axis: -t.stride(axis)) for t in (stored, out)]
    assert ranks[0] == ranks[1] and out.stride(-1) == 1
    assert torch.equal(out, flex_attention(q, k, v))


def test_strides_do_not_matter():
    q, k, v = operands()
    packed = torch.cat([q, k, v], -1)
    views = packed.split(32, -1)
    columns = [t.transpose(-1, -2).contiguous().transpose(-1, -2) for t in (q, k, v)]
    want = flex_attention(q, k, v)
    torch.testing.assert_close(flex_attention(*views), want)
    torch.testing.assert_close(flex_attention(*columns), want)
    same = flex_attention(q, q, q)
    torch.testing.assert_close(same, flex_attention(q.clone(), q.clone(), q.clone()))


def test_torch_masks_are_accepted():
    q, k, v = operands(S=256)
    mask = MASKS["joined"]
    other = theirs.create_block_mask(mask, 2, 4, 256, 256, device=DEVICE)
    torch.testing.assert_close(flex_attention(q, k, v, block_mask=other), flex_attention(q, k, v, mask_mod=mask))


def test_ours_serve_torch():
    q, k, v = operands(S=256)
    mine = create_block_mask(MASKS["window"], 1, 1, 256, 256, device=DEVICE)
    assert isinstance(mine, theirs.BlockMask)
    torch.testing.assert_close(
        theirs.flex_attention(q, k, v, block_mask=mine), flex_attention(q, k, v, block_mask=mine), atol=1e-5, rtol=1e-5
    )


def test_lists_without_a_mask_mod_decide():
    indices = torch.tensor([[0, 2], [1, 3], [0, 3], [2, 3]], dtype=torch.int32).expand(1, 2, 4, 2)
    counts = torch.full((1, 2, 4), 2, dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=64, seq_lengths=(256, 256))
    q, k, v = operands(B=1, H=2, S=256)
    table = torch.zeros(4, 4, dtype=torch.bool)
    for row, columns in enumerate(indices[0, 0]):
        table[row, columns.long()] = True
    want = flex_attention(q, k, v, mask_mod=lambda b, h, q, kv: table[q // 64, kv // 64])
    torch.testing.assert_close(flex_attention(q, k, v, block_mask=mask), want)


def test_results_follow_the_request():
    q, k, v = operands()
    out, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True))
    assert aux.lse.shape == (2, 4, S) and aux.max_scores is None and aux.lse.dtype == torch.float32
    with pytest.warns(FutureWarning):
        from tilewright.torch import _flex

        _flex._warned.clear()
        same, lse = flex_attention(q, k, v, return_lse=True)
    assert torch.equal(out, same) and torch.equal(lse, aux.lse)
    _, aux = flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))
    scores = q.double() @ k.double().mT / math.sqrt(32)
    assert_stats(aux.max_scores, scores.amax(-1))
    assert aux.lse is None


def test_kernel_options_are_accepted():
    q, k, v = operands()
    options = {"BLOCK_M": 64, "fwd_num_warps": 4, "PRESCALE_QK": True, "ROWS_GUARANTEED_SAFE": True}
    assert torch.equal(flex_attention(q, k, v, kernel_options=options), flex_attention(q, k, v))
    with pytest.raises(ValueError, match="Invalid BACKEND"):
        flex_attention(q, k, v, kernel_options={"BACKEND": "TURBO"})
    with pytest.raises(RuntimeError, match="FORCE_USE_FLEX_ATTENTION"):
        flex_attention(q, k, v, kernel_options={"BACKEND": "AUTO", "FORCE_USE_FLEX_ATTENTION": True})
    with pytest.raises(AssertionError, match="OUTPUT_MAX"):
        flex_attention(q, k, v, kernel_options={"OUTPUT_MAX": True})


def test_errors():
    q, k, v = operands()
    with pytest.raises(NotImplementedError, match="4D"):
        flex_attention(q[0], k, v)
    with pytest.raises(ValueError, match="same embedding dimension"):
        flex_attention(q, k[..., :16], v)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(q, k[:, :2], v[:, :2])
    with pytest.raises(ValueError, match="multiple of kv heads"):
        flex_attention(q, k[:, :3], v[:, :3], enable_gqa=True)
    with pytest.raises(ValueError, match="same batch size"):
        flex_attention(torch.cat([q, q]), k, v)
    with pytest.raises(ValueError, match="return_lse and return_aux"):
        flex_attention(q, k, v, return_lse=True, return_aux=AuxRequest(lse=True))
    with pytest.raises(ValueError, match="mask_mod is given as score_mod"):
        flex_attention(q, k, v, MASKS["causal"])
    with pytest.raises(tw.UnsupportedError, match="vmap"):
        torch.func.vmap(lambda x: flex_attention(x[None], k[:1], v[:1]))(q)


@pytest.mark.parametrize("lengths", [(64, 64), (256, 256), (64, 130), (130, 256)])
def test_a_mask_of_other_lengths_is_refused(lengths):
    mask = create_block_mask(MASKS["causal"], None, None, *lengths, device=DEVICE)
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex_attention(*operands(), block_mask=mask)


@pytest.mark.parametrize("B", [1, 2, 3])
@pytest.mark.parametrize("H", [1, 2, 3])
def test_mask_batch_and_heads_are_checked(B, H):
    q, k, v = operands(B=2, H=2, S=8, D=16)
    mask = create_block_mask(MASKS["causal"], B, H, 8, 8, device=DEVICE)
    if B == 3 or H == 3:
        with pytest.raises(ValueError, match="disagree on"):
            flex_attention(q, k, v, block_mask=mask)
    else:
        torch.testing.assert_close(
            flex_attention(q, k, v, block_mask=mask), flex_attention(q, k, v, mask_mod=MASKS["causal"])
        )


def test_create_mask_is_exact():
    for mask in ("causal", "dilated", "document", "empty rows"):
        want = theirs.create_mask(MASKS[mask], 2, 4, 60, 75, device=DEVICE)
        assert torch.equal(create_mask(MASKS[mask], 2, 4, 60, 75, device=DEVICE), want)
    want = theirs.create_mask(SCORES["causal"], 1, 1, 60, 75, device=DEVICE)
    assert torch.equal(create_mask(SCORES["causal"], 1, 1, 60, 75, device=DEVICE), want)


def test_cu_seqlens_are_sequences_of_their_own():
    q, k, v = operands(B=1)
    bounds = torch.tensor([0, 40, 41, 100, 120])
    shift = torch.tensor([0.0, 1.0, 2.0, 3.0])
    score = lambda s, b, h, q, kv: s + shift[b] * (q - kv)  # noqa: E731
    out, aux = flex_attention(
        q, k, v, score, mask_mod=MASKS["causal"], cu_seqlens=bounds, return_aux=AuxRequest(lse=True)
    )
    for n, (a, z) in enumerate(itertools.pairwise(bounds.tolist())):
        part = [t[:, :, a:z] for t in (q, k, v)]
        alone = flex_attention(*part, lambda s, b, h, q, kv, n=n: s + n * (q - kv), mask_mod=MASKS["causal"])
        torch.testing.assert_close(out[:, :, a:z], alone, atol=1e-5, rtol=1e-5)
    assert (out[:, :, 120:] == 0).all() and torch.isneginf(aux.lse[:, :, 120:]).all()


def test_cuda_tensors_need_a_backend():
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    view = tw._tensors.view_of(np.zeros((1, 1, 8, 8), np.float32)).on_cuda(0)
    with pytest.raises(tw.Error):
        tw.engine().attention(tw.Program(), (view, view, view), (view, None, None), (None, None, None, False))
