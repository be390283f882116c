"""BlockMask: PyTorch's fields and methods, exact slices, pickles."""

import io
import pickle

import pytest
import torch
from torch.nn.attention import flex_attention as theirs

import tilewright as tw
from tilewright.torch import BlockMask, create_block_mask, create_mask, flex_attention

DOC = torch.arange(1024) // 100
LIMIT = torch.tensor([100, 700, 1000])
MASKS = {
    "causal": lambda b, h, q, kv: q >= kv,
    "window": lambda b, h, q, kv: (q >= kv) & (q - kv < 200),
    "document": lambda b, h, q, kv: DOC[q] == DOC[kv],
    "lengths": lambda b, h, q, kv: kv < LIMIT[b],
    "heads": lambda b, h, q, kv: q - kv > 100 * h,
}
LISTS = ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks")


def both(name, B=3, H=2, Q=1024, KV=1024, **options):
    arguments = (MASKS[name], B, H, Q, KV, "cpu")
    return create_block_mask(*arguments, **options), theirs.create_block_mask(*arguments, **options)


def listed(counts, indices):
    return [
        sorted(row[:n].tolist()) for n, row in zip(counts.reshape(-1).tolist(), indices.reshape(-1, indices.size(-1)))
    ]


def assert_same_lists(mine, other):
    for name in LISTS:
        assert torch.equal(getattr(mine, name), getattr(other, name)), name
        indices = name.replace("num_blocks", "indices")
        assert listed(getattr(mine, name), getattr(mine, indices)) == listed(
            getattr(other, name), getattr(other, indices)
        )


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("block", [128, (256, 128), (64, 128)])
def test_lists_equal_torchs(name, block):
    mine, other = both(name, BLOCK_SIZE=block)
    assert_same_lists(mine, other)
    assert mine.shape == other.shape and mine.numel() == other.numel()
    assert mine.sparsity() == pytest.approx(other.sparsity())
    assert torch.equal(mine.to_dense(), other.to_dense())
    assert mine.to_string() == other.to_string() and str(mine) == str(other)
    assert len(mine.as_tuple()) == len(other.as_tuple())
    for field in (f"kv_indices={mine.kv_indices.shape}", "shape=(3, 2, 1024, 1024)", f"BLOCK_SIZE={mine.BLOCK_SIZE}"):
        assert field in repr(mine)


def test_separate_full_blocks_false_lists_all_as_partial():
    mine, other = both("causal", separate_full_blocks=False)
    assert mine.full_kv_num_blocks is None and torch.equal(mine.kv_num_blocks, other.kv_num_blocks)


def test_published_sparsity():
    mask = create_block_mask(MASKS["causal"], None, None, 2048, 2048, device="cpu")
    assert mask.sparsity() == 46.875


def test_sparsity_stays_within_0_and_100():
    mask = create_block_mask(MASKS["causal"], None, None, 100, 100, device="cpu")
    assert mask.sparsity() == 0
    assert mask.shape == (1, 1, 100, 100) and mask.BLOCK_SIZE == (128, 128)
    wide = create_block_mask(MASKS["causal"], None, None, 20, 300, device="cpu")
    assert wide.kv_indices.shape == (1, 1, 1, 3)


def test_nothing_is_evaluated_until_it_is_read():
    asked = []

    def mask(b, h, q, kv):
        asked.append(1)
        return q >= kv

    made = create_block_mask(mask, None, None, 1 << 20, 1 << 20, device="cpu")
    assert not asked and made.shape == (1, 1, 1 << 20, 1 << 20)


def test_a_million_tokens_take_little_memory():
    mask = create_block_mask(MASKS["window"], None, None, 1 << 20, 1 << 20, device="cpu")
    plot = mask.plot()
    assert plot.nbytes < 1 << 20 and plot.sparsity > 99.9


def test_slices_mean_what_they_meant():
    q, k, v = (torch.randn(3, 2, 1000, 16) for _ in range(3))
    for name in ("causal", "lengths", "heads"):
        mask = create_block_mask(MASKS[name], 3, 2, 1000, 1000, device="cpu")
        whole = flex_attention(q, k, v, block_mask=mask)
        for index, rows in (
            (slice(0, 1), slice(0, 128)),
            (slice(1, 3), slice(128, 384)),
            (-1, slice(896, 1000)),
            (torch.tensor([2]), slice(256, 384)),
        ):
            part = mask[:, :, index]
            assert part.shape == (3, 2, rows.stop - rows.start, 1000)
            torch.testing.assert_close(flex_attention(q[:, :, rows], k, v, block_mask=part), whole[:, :, rows])
            dense = create_mask(MASKS[name], 3, 2, 1000, 1000, device="cpu")[:, :, rows]
            assert torch.equal(torch.from_numpy(part.plot().dense()), dense)
        one = mask[1:3, 1]
        assert one.shape == (2, 1, 1000, 1000)
        torch.testing.assert_close(flex_attention(q[1:3, 1:], k[1:3, 1:], v[1:3, 1:], block_mask=one), whole[1:3, 1:])


def test_slices_of_lists():
    other = theirs.create_block_mask(MASKS["causal"], 1, 1, 512, 512, device="cpu")
    mine = BlockMask(**{name: getattr(other, name) for name in
                        ("seq_lengths", "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")},
                     BLOCK_SIZE=other.BLOCK_SIZE, mask_mod=other.mask_mod)  # fmt: skip
    q, k, v = (torch.randn(1, 1, 512, 16) for _ in range(3))
    part = mine[:, :, 1:3]
    torch.testing.assert_close(
        flex_attention(q[:, :, 128:384], k, v, block_mask=part), flex_attention(q, k, v, block_mask=mine)[:, :, 128:384]
    )


def test_adjust_equals_a_fresh_mask():
    mask = create_block_mask(MASKS["causal"], None, None, 256, 256, device="cpu")._adjust(100, 180)
    fresh = create_block_mask(MASKS["causal"], None, None, 100, 180, device="cpu")
    assert mask.shape == fresh.shape
    assert_same_lists(mask, fresh)
    q, k, v = torch.randn(1, 1, 100, 8), torch.randn(1, 1, 180, 8), torch.randn(1, 1, 180, 8)
    assert torch.equal(flex_attention(q, k, v, block_mask=mask), flex_attention(q, k, v, block_mask=fresh))


def test_a_new_mask_mod_keeps_the_lists():
    mask = create_block_mask(MASKS["window"], None, None, 512, 512, device="cpu")
    mask.mask_mod = lambda b, h, q, kv: q >= kv
    q, k, v = (torch.randn(1, 1, 512, 16) for _ in range(3))
    window = create_block_mask(MASKS["window"], None, None, 512, 512, device="cpu")
    dense = window.to_dense()[0, 0].bool()
    want = flex_attention(q, k, v, mask_mod=lambda b, h, q, kv: (q >= kv) & dense[q // 128, kv // 128])
    torch.testing.assert_close(flex_attention(q, k, v, block_mask=mask), want)


def test_broadcast_lists_of_a_mask_that_depends_on_heads_are_refused():
    mask = create_block_mask(MASKS["heads"], None, None, 256, 256, device="cpu")
    with pytest.raises(tw.Error, match="h"):
        mask.kv_num_blocks
    q, k, v = (torch.randn(1, 2, 256, 16) for _ in range(3))
    full = create_block_mask(MASKS["heads"], 1, 2, 256, 256, device="cpu")
    assert torch.equal(flex_attention(q, k, v, block_mask=mask), flex_attention(q, k, v, block_mask=full))


@pytest.mark.parametrize("name", ["causal", "document", "lengths"])
def test_pickle_and_torch_load(name):
    mask = create_block_mask(MASKS[name], 3, 2, 500, 500, device="cpu")
    file = io.BytesIO()
    torch.save(mask, file)
    file.seek(0)
    q, k, v = (torch.randn(3, 2, 500, 16) for _ in range(3))
    want = flex_attention(q, k, v, block_mask=mask)
    for copy in (pickle.loads(pickle.dumps(mask)), torch.load(file, weights_only=True)):
        assert copy.shape == mask.shape
        assert torch.equal(flex_attention(q, k, v, block_mask=copy), want)
        again = pickle.loads(pickle.dumps(copy[:, :, 1:]))
        torch.testing.assert_close(flex_attention(q[:, :, 128:], k, v, block_mask=again), want[:, :, 128:])


def test_pytree_and_to():
    mask = create_block_mask(MASKS["causal"], 1, 1, 256, 256, device="cpu")
    leaves, spec = torch.utils._pytree.tree_flatten(mask)
    back = torch.utils._pytree.tree_unflatten(leaves, spec)
    assert torch.equal(back.kv_indices, mask.kv_indices) and back.shape == mask.shape
    assert mask.to("cpu").device.type == "cpu"


def test_constructor_errors():
    counts, indices = torch.zeros(1, 1, 2, dtype=torch.int32), torch.zeros(1, 1, 2, 2, dtype=torch.int32)
    with pytest.raises(AssertionError, match="full_kv_num_blocks"):
        BlockMask((256, 256), counts, indices, full_kv_num_blocks=counts)
    with pytest.raises(RuntimeError, match="2 dimensions"):
        BlockMask.from_kv_blocks(torch.zeros(()), torch.zeros(2))
    with pytest.raises(AssertionError, match="mask_mod function"):
        create_block_mask(lambda s, b, h, q, kv: s, 1, 1, 8, 8)
    with pytest.raises(ValueError, match="dq_kv_order"):
        create_block_mask(MASKS["causal"], 1, 1, 8, 8, dq_kv_order=None)
