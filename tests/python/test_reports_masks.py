"""What went wrong for others, by its id: empty rows, lengths, masks and their metadata, heads."""

import pytest
import torch
from dense_torch import dense, gradients, operands, same
from devices import DEVICE, LEARNING

import tilewright as tw
from tilewright.torch import AuxRequest, BlockMask, create_block_mask, create_mask, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def block_mask(mask, *sizes, **options):
    return create_block_mask(mask, *sizes, device=DEVICE, **options)


def live(mask, S, KV=None):
    return int(create_mask(mask, 1, 1, S, KV or S, device=DEVICE).sum())


def test_C001_empty_rows_are_exact():
    mask = lambda b, h, q, kv: (kv <= q) & ((q + h) % 4 != 3)  # noqa: E731
    q, k, v = operands()
    out, aux = flex_attention(q, k, v, mask_mod=mask, return_aux=AuxRequest(lse=True))
    empty = torch.tensor([[(i + h) % 4 == 3 for i in range(40)] for h in range(2)])
    assert int(empty.sum()) == 20
    assert (out[0][empty] == 0).all() and torch.isneginf(aux.lse[0][empty]).all()
    want, lse = dense(q, k, v, None, mask)
    same(out, want)
    grads = gradients(out, (q, k, v), torch.randn_like(out))
    assert all(torch.isfinite(g).all() for g in grads) and (grads[0][0][empty] == 0).all()


def test_C002_what_arrives_at_empty_rows_does_not_matter():
    mask = lambda b, h, q, kv: (kv <= q) & ((q + h) % 4 != 3)  # noqa: E731
    q, k, v = operands()
    empty = torch.tensor([[(i + h) % 4 == 3 for i in range(40)] for h in range(2)])
    runs = []
    for filling in (0.0, 1e3, torch.nan):
        up = torch.ones(1, 2, 40, 8, dtype=LEARNING)
        up[0, empty] = filling
        runs.append(gradients(flex_attention(q, k, v, mask_mod=mask), (q, k, v), up))
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(run, runs[0]))


def test_C003_rows_that_are_empty_in_the_first_tile():
    for S in (130, 512):
        mask = lambda b, h, q, kv: (q - kv >= 0) & (q - kv < 8)  # noqa: E731
        q, k, v = operands(S=S)
        for options in (None, {"ROWS_GUARANTEED_SAFE": True}):
            same(flex_attention(q, k, v, mask_mod=mask, kernel_options=options), dense(q, k, v, None, mask)[0])
    assert live(mask, 130) == 1012


def test_C008_masked_keys_never_reach_the_output():
    q, k, v = operands(S=33, D=16, grad=False)
    cap = lambda s, b, h, i, j: 1.0 * torch.tanh(s / 1.0)  # noqa: E731
    want = flex_attention(q, k, v, cap, mask_mod=CAUSAL, scale=1.0)
    for row in (0, 7, 31):
        k2, v2 = k.clone(), v.clone()
        k2[:, :, row + 1 :], v2[:, :, row + 1 :] = 1e4, 1e4
        got = flex_attention(q, k2, v2, cap, mask_mod=CAUSAL, scale=1.0)
        assert torch.equal(got[:, :, : row + 1], want[:, :, : row + 1])


def test_C015_a_decode_loop_with_a_tensor_offset():
    cache = torch.randn(1, 228, 4, 16)
    offset = torch.zeros((), dtype=torch.int32)
    for length in range(128, 228):
        offset.fill_(length - 1)
        k = cache[:, :length].transpose(1, 2)
        q = torch.randn(1, 4, 1, 16)
        got = flex_attention(q, k, k, mask_mod=lambda b, h, i, j: i + offset >= j)
        same(got, dense(q, k, k)[0], 1e-5, 1e-5)


def test_C016_mods_see_no_position_past_the_end():
    table = torch.rand(2046) > 0.2
    mask = block_mask(lambda b, h, q, kv: table[q], None, None, 2046, 2046)
    assert mask.to_dense().shape[-2:] == (16, 16)
    q, k, v = operands(H=1, S=2046, dtype=torch.float32, grad=False)
    got = flex_attention(q, k, v, block_mask=mask)
    assert (got[0, 0, ~table] == 0).all() and torch.isfinite(got).all()


def test_C022_the_default_block_is_128_on_both_axes():
    mask = block_mask(CAUSAL, None, None, 20, 300)
    assert mask.BLOCK_SIZE == (128, 128) and mask.kv_indices.shape[-2:] == (1, 3)


def test_C023_lists_decide_without_a_mask_mod():
    rows = [[0, 2], [1, 3], [0, 3], [2, 3]]
    # Entries past the count are never read.
    lists = torch.tensor([row + [99, -7] for row in rows], dtype=torch.int32).expand(1, 2, 4, 4).contiguous()
    counts = torch.full((1, 2, 4), 2, dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, lists, BLOCK_SIZE=16)
    q, k, v = operands(S=64, grad=False)
    allowed = torch.zeros(4, 4, dtype=torch.bool)
    for row, columns in enumerate(rows):
        allowed[row, columns] = True
    want = dense(q, k, v, None, lambda b, h, i, j: allowed[i // 16, j // 16])[0]
    same(flex_attention(q, k, v, block_mask=mask), want)


def test_C025_slices_report_their_own_lengths():
    mask = block_mask(CAUSAL, None, None, 1000, 1000, BLOCK_SIZE=256)
    for index, length in ((slice(0, 1), 256), (slice(1, 3), 512), (slice(-1, None), 232), (2, 256)):
        assert mask[:, :, index].shape == (1, 1, length, 1000)
    assert mask[:, :, torch.tensor([0, 3])].shape == (1, 1, 488, 1000)


def test_C027_adjusted_masks_are_fresh_masks():
    adjusted = block_mask(CAUSAL, None, None, 256, 256)._adjust(100, 180)
    fresh = block_mask(CAUSAL, None, None, 100, 180)
    assert adjusted.shape == fresh.shape and torch.equal(adjusted.to_dense(), fresh.to_dense())
    q, k, v = operands(S=100, KV=180, grad=False)
    assert torch.equal(flex_attention(q, k, v, block_mask=adjusted), flex_attention(q, k, v, block_mask=fresh))


def test_C030_a_window_with_a_sink():
    mask = lambda b, h, q, kv: (kv <= q) & ((q - kv <= 1023) | (kv < 4))  # noqa: E731
    assert live(mask, 2048) == 1577466
    q, k, v = operands(H=4, Hkv=1, S=2048, D=16, dtype=torch.float32, grad=False)
    got = flex_attention(q, k, v, block_mask=block_mask(mask, None, None, 2048, 2048), enable_gqa=True)
    same(got, dense(q, k, v, None, mask)[0], 1e-4, 1e-4)


@pytest.mark.parametrize("block", [16, 32, 64, 128, (32, 128), (128, 32)])
def test_C031_the_block_size_changes_nothing(block):
    n, size = 48, 8
    mask = lambda b, h, q, kv: torch.where(  # noqa: E731
        q < n, (q // size == kv // size) | ((kv >= n) & ((kv - n) // size < q // size)),
        (kv >= n) & ((kv - n) // size <= (q - n) // size),
    )  # fmt: skip
    q, k, v = operands(S=2 * n)
    got = flex_attention(q, k, v, block_mask=block_mask(mask, None, None, 2 * n, 2 * n, BLOCK_SIZE=block))
    same(got, dense(q, k, v, None, mask)[0])


def test_C032_sparsity_is_a_percentage():
    for length in (1, 100, 127, 128, 129, 300):
        document = torch.arange(length) // 40
        mask = block_mask(lambda b, h, q, kv: (document[q] == document[kv]) & (q >= kv), None, None, length, length)
        assert 0 <= mask.sparsity() <= 100
    assert block_mask(CAUSAL, None, None, 100, 100).sparsity() == 0


def test_C034_chunks_with_left_context():
    for c in (24, 10, 100):
        mask = lambda b, h, q, kv, c=c: (q // c - kv // c >= 0) & (q // c - kv // c <= 2)  # noqa: E731
        q, k, v = operands(H=4, S=300, D=16, dtype=torch.float32)
        out = flex_attention(q, k, v, block_mask=block_mask(mask, None, None, 300, 300))
        want = dense(q, k, v, None, mask)[0]
        same(out, want, 1e-5, 1e-5)
        for a, b in zip(gradients(out, (q, k, v)), gradients(want, (q, k, v))):
            same(a, b, 1e-4, 1e-4)


def test_C035_batch_and_heads_of_a_mask_are_checked():
    q, k, v = operands(B=2, H=2, S=8, D=16, grad=False)
    legal = 0
    for B in (1, 2, 3):
        for H in (1, 2, 3):
            mask = block_mask(lambda b, h, i, j: (i >= j) | (b + h > 1), B, H, 8, 8)
            if B == 3 or H == 3:
                with pytest.raises(ValueError, match="3"):
                    flex_attention(q, k, v, block_mask=mask)
            else:
                legal += 1
                flex_attention(q, k, v, block_mask=mask)
    assert legal == 4


def test_C037_short_queries_with_a_mask_per_head():
    mask = lambda b, h, q, kv: (h > 0) & (q >= kv)  # noqa: E731
    q, k, v = operands(H=8, S=8, D=16, grad=False)
    got = flex_attention(q, k, v, block_mask=block_mask(mask, None, 8, 8, 8))
    assert (got[:, 0] == 0).all()
    same(got, dense(q, k, v, None, mask)[0])


@pytest.mark.parametrize("group", [1, 2, 3, 5, 6, 7, 8, 12])
def test_C039_any_group_size(group):
    q, k, v = operands(H=2 * group, Hkv=2, S=1, KV=96, D=16)
    out, want = flex_attention(q, k, v, enable_gqa=True), dense(q, k, v)[0]
    same(out, want)
    for a, b in zip(gradients(out, (q, k, v)), gradients(want, (q, k, v))):
        same(a, b)


def test_C041_h_is_the_query_head():
    q, k, v = operands(H=8, Hkv=2, S=20, grad=False)
    factor = torch.ones(8, dtype=LEARNING)
    factor[5] = 3
    plain = flex_attention(q, k, v, enable_gqa=True)
    got = flex_attention(q, k, v, lambda s, b, h, i, j: s * factor[h], enable_gqa=True)
    others = [h for h in range(8) if h != 5]
    assert torch.equal(got[:, others], plain[:, others])
    tripled = flex_attention(q, k, v, enable_gqa=True, scale=3 * 8**-0.5)
    same(got[:, 5], tripled[:, 5])


def test_C043_keys_shared_by_the_batch():
    q, k, v = operands(B=8, Bkv=1, S=20)
    mask = block_mask(lambda b, h, i, j: i + b >= j, 8, None, 20, 20)
    out = flex_attention(q, k, v, block_mask=mask)
    want = dense(q, k.expand(8, -1, -1, -1), v.expand(8, -1, -1, -1), None, lambda b, h, i, j: i + b >= j)[0]
    same(out, want)
    for a, b in zip(gradients(out, (q, k, v)), gradients(want, (q, k, v))):
        assert a.shape == b.shape
        same(a, b)


def test_C080_C082_lengths_of_a_mask_must_fit():
    q, k, v = operands(S=64, grad=False)
    for lengths in ((128, 128), (32, 32), (32, 64), (64, 128)):
        with pytest.raises(ValueError, match="block_mask was created for"):
            flex_attention(q, k, v, block_mask=block_mask(CAUSAL, None, None, *lengths))
    assert block_mask(CAUSAL, None, None, 20000, 40000).shape == (1, 1, 20000, 40000)


def test_C110_masks_of_a_million_tokens():
    window = block_mask(lambda b, h, q, kv: (q >= kv) & (q - kv < 4096), None, None, 1 << 20, 1 << 20)
    picture = window.plot()
    assert picture.live_pairs == sum(min(i + 1, 4096) for i in range(1 << 20))
    assert picture.nbytes < 64 << 20


def test_C135_a_window_has_as_many_keys_as_it_says():
    for width in (1, 2, 17):
        rows = create_mask(tw.masks.window(width), 1, 1, 40, 40, device=DEVICE)[0, 0].sum(-1)
        assert rows.tolist() == [min(i + 1, width) for i in range(40)]


def test_C139_neighbourhoods():
    def near(k, n):
        def mask(b, h, q, kv):
            start = torch.clamp(q - k // 2, 0, max(n - k, 0))
            return (kv >= start) & (kv < start + k)

        return mask

    assert live(near(7, 33), 33) == 231
    assert live(near(50, 33), 33) == 33 * 33
    assert live(near(6, 33), 33) == 6 * 33


def test_C157_masks_default_to_the_device_there_is():
    mask = create_block_mask(CAUSAL, None, None, 64, 64)
    assert mask.device.type == ("cuda" if torch.cuda.is_available() else "cpu")
