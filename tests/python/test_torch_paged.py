"""PyTorch's PagedAttention over our block masks and kernels: pages allocated, filled, freed, and read
through masks and mods of physical positions, against the same sequences held whole."""

import pytest
import torch
from devices import DEVICE

from tilewright.torch import create_block_mask, flex_attention

paged_attention = pytest.importorskip("torch.nn.attention.experimental._paged_attention")

PAGE = 128
PAGES = 32
BATCH, HEADS, Q, DIM = 4, 4, 512, 16
CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731
MODS = {
    "none": None,
    "relative": lambda s, b, h, q, kv: s + 0.01 * (q - kv),
    "by head": lambda s, b, h, q, kv: s * (1 + h),
}


@pytest.fixture
def pages():
    """A table whose physical pages are out of order, with holes where a sequence was freed."""
    made = paged_attention.PagedAttention(PAGES, PAGE, BATCH, device=DEVICE)
    lengths = {0: 200, 1: 512, 2: 128, 3: 512}
    for batch in (0, 1, 2):
        reserve(made, batch, lengths[batch])
    made.erase(torch.tensor([0]))
    for batch in (3, 0, 1, 2):
        reserve(made, batch, Q)
    return made


def reserve(pages, batch, length):
    pages.reserve(torch.tensor([batch]), torch.tensor([length]))


def filled(pages, key, value):
    caches = [torch.zeros(1, HEADS, PAGES * PAGE, DIM) for _ in range(2)]
    places = torch.arange(Q).expand(BATCH, Q)
    pages.assign(torch.arange(BATCH), places, key, value, *caches)
    return caches


@pytest.mark.parametrize("name", MODS)
@pytest.mark.parametrize("mask_mod", [CAUSAL, None], ids=["causal", "every pair"])
def test_pages_give_what_whole_sequences_give(pages, name, mask_mod):
    query, key, value = (torch.randn(BATCH, HEADS, Q, DIM) for _ in range(3))
    caches = filled(pages, key, value)
    logical = create_block_mask(mask_mod or (lambda b, h, q, kv: q >= 0), BATCH, None, Q, Q)
    got = flex_attention(
        query, *caches, pages.get_score_mod(MODS[name]), block_mask=pages.convert_logical_block_mask(logical)
    )
    want = flex_attention(query, key, value, MODS[name], block_mask=logical)
    assert torch.allclose(got, want, atol=2e-5), (got - want).abs().max()


def test_lengths_of_sequences_bound_their_pages(pages):
    query, key, value = (torch.randn(BATCH, HEADS, Q, DIM) for _ in range(3))
    caches = filled(pages, key, value)
    lengths = torch.tensor([1, 77, 128, 400])
    # Lengths are part of the mask_mod, which full blocks do not ask.
    logical = create_block_mask(lambda b, h, q, kv: q >= 0, BATCH, None, Q, Q, separate_full_blocks=False)
    got = flex_attention(query, *caches, block_mask=pages.convert_logical_block_mask(logical, kv_len=lengths))
    want = flex_attention(query, key, value, mask_mod=lambda b, h, q, kv: kv < lengths[b])
    assert torch.allclose(got, want, atol=2e-5), (got - want).abs().max()


def test_new_tokens_are_seen_in_their_pages(pages):
    query, key, value = (torch.randn(BATCH, HEADS, Q, DIM) for _ in range(3))
    caches = filled(pages, key, value)
    place = torch.tensor([[5], [200], [300], [511]])
    news = [torch.randn(BATCH, HEADS, 1, DIM) for _ in range(2)]
    pages.assign(torch.arange(BATCH), place, *news, *caches)
    for whole, new in zip((key, value), news):
        for batch in range(BATCH):
            whole[batch, :, place[batch, 0]] = new[batch, :, 0]
    logical = create_block_mask(CAUSAL, BATCH, None, Q, Q)
    got = flex_attention(query, *caches, block_mask=pages.convert_logical_block_mask(logical))
    want = flex_attention(query, key, value, block_mask=logical)
    assert torch.allclose(got, want, atol=2e-5), (got - want).abs().max()
