"""One query against many keys, and the captured tensors of PyTorch's flash tests, in our words."""

import pytest
import torch
from devices import DEVICE, generator
from flex_reference import NOTHING, check, operands

from tilewright.torch import create_block_mask, flex_attention

OFFSET = torch.tensor(2047)
CAUSAL = lambda b, h, q, kv: q + OFFSET >= kv  # noqa: E731
SCORES = {
    "none": None,
    "times two": lambda s, b, h, q, kv: s * 2,
    "relative": lambda s, b, h, q, kv: s + (q + OFFSET - kv) * 0.01,
    "alibi": lambda s, b, h, q, kv: s + (kv - q - OFFSET) * torch.exp2(-((h + 1) * 8.0 / 16)),
    "soft cap": lambda s, b, h, q, kv: 3 * torch.tanh(s / 3),
    "window as a score": lambda s, b, h, q, kv: torch.where(q + OFFSET - kv <= 1000, s, NOTHING),
}
one_query = lambda **sizes: operands(S=1, **{"B": 4, "KV": 2048, "D": 64, "dtype": torch.float16, **sizes})  # noqa: E731


@pytest.mark.parametrize("heads", [(16, 1), (8, 2), (16, 8), (16, 16)], ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_scores(name, heads):
    check(*one_query(H=heads[0], Hkv=heads[1]), SCORES[name], CAUSAL, gradients=False)


@pytest.mark.parametrize("batch", [3, 5, 8])
def test_keys_shared_by_the_batch(batch):
    check(*one_query(B=batch, Bkv=1, H=8, Hkv=2), None, lambda b, h, q, kv: kv % (b + 2) == 0, gradients=False)


@pytest.mark.parametrize("block", [64, 128, (1, 64), (128, 64)], ids=str)
def test_block_sizes(block):
    window = lambda b, h, q, kv: (q + OFFSET >= kv) & (q + OFFSET - kv <= 1000)  # noqa: E731
    check(*one_query(H=8, Hkv=2), SCORES["alibi"], window, block=block, gradients=False)


@pytest.mark.parametrize("dim", [17, 24, 94, 121])
def test_head_dims(dim):
    check(*one_query(B=2, H=8, Hkv=2, D=dim), SCORES["soft cap"], CAUSAL, gradients=False)


def test_sequences_without_keys():
    lengths = torch.tensor([2048, 0, 17, 1])
    q, k, v = one_query(H=8, Hkv=2)
    out = check(q, k, v, None, lambda b, h, q, kv: kv < lengths[b], gradients=False)
    assert (out[1] == 0).all() and (out[0] != 0).any()


def test_a_growing_cache_reads_its_mask_by_slices():
    """A mask made once for the whole length, asked at one block of queries after another."""
    q, k, v = operands(B=1, H=2, S=256, D=16)
    whole = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256, device=DEVICE, BLOCK_SIZE=32)
    wanted = flex_attention(q, k, v, block_mask=whole)
    for block in range(8):
        rows = slice(32 * block, 32 * block + 32)
        assert torch.equal(flex_attention(q[:, :, rows], k, v, block_mask=whole[:, :, block]), wanted[:, :, rows])


# Captured tensors. Every mod is used with and without a causal mask.
S, H = 127, 4
GENERATOR = generator(11)
SLOPES = torch.rand(H, generator=GENERATOR)
POSITIONS = torch.randn(2 * S, generator=GENERATOR)
PAIRS = torch.randn(2, H, generator=GENERATOR)
MANY = [torch.randn(S, generator=GENERATOR) for _ in range(6)]
WIDE = torch.randn(H, 3, S, generator=GENERATOR)
LENGTH = torch.tensor(90)
DOCUMENT = torch.randint(0, 4, (2, S), generator=GENERATOR).sort().values
BUFFERS = {
    "slope by head": lambda s, b, h, q, kv: s - SLOPES[h] * (q - kv).abs(),
    "position table": lambda s, b, h, q, kv: s + POSITIONS[q] * POSITIONS[kv + S],
    "scale by head": lambda s, b, h, q, kv: s * SLOPES[h],
    "bias by batch": lambda s, b, h, q, kv: s + PAIRS[b, 0],
    "bias by batch and head": lambda s, b, h, q, kv: s + PAIRS[b, h],
    "two tables": lambda s, b, h, q, kv: s * SLOPES[h] + POSITIONS[q],
    "many tables": lambda s, b, h, q, kv: s + sum(t[(q + kv) % S] for t in MANY),
    "views": lambda s, b, h, q, kv: s + WIDE[:, 1][h, kv] + WIDE.transpose(1, 2)[h, q, 2],
    "a view with a step": lambda s, b, h, q, kv: s + POSITIONS[::2][kv],
    "chained": lambda s, b, h, q, kv: s + SLOPES[DOCUMENT[b, kv]],
    "decay": lambda s, b, h, q, kv: s * torch.exp(-(q - kv).abs() * 0.05),
}
BUFFER_MASKS = {
    "none": None,
    "causal": lambda b, h, q, kv: q >= kv,
    "captured length": lambda b, h, q, kv: kv < LENGTH,
    "document": lambda b, h, q, kv: DOCUMENT[b, q] == DOCUMENT[b, kv],
    "document and length by head": lambda b, h, q, kv: (DOCUMENT[b, q] == DOCUMENT[b, kv]) & (kv < LENGTH - 20 * h),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers(name):
    for mask in (None, BUFFER_MASKS["causal"]):
        check(*operands(S=S, D=32, dtype=torch.bfloat16), BUFFERS[name], mask)


@pytest.mark.parametrize("mask", BUFFER_MASKS)
@pytest.mark.parametrize("heads", [(4, 4), (4, 1)], ids=str)
def test_masks_of_buffers(mask, heads):
    check(*operands(S=S, H=heads[0], Hkv=heads[1], D=32), BUFFERS["slope by head"], BUFFER_MASKS[mask])


def test_very_unequal_documents():
    bounds = torch.tensor([0, 1, 2, 3, 400, 401, 640, 641])
    document = torch.searchsorted(bounds, torch.arange(641), right=True)
    mask = lambda b, h, q, kv: (document[q] == document[kv]) & (q >= kv)  # noqa: E731
    check(*operands(B=1, H=2, S=641, D=16), None, mask)
