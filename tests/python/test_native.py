"""tilewright.attention on arrays that are not torch's."""

import numpy as np
import pytest
from native_calls import check, operands

import tilewright as tw


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_every_dtype(rng, dtype):
    kind = dtype
    if dtype == "bfloat16":
        kind = pytest.importorskip("ml_dtypes").bfloat16
    q, k, v = operands(rng, dtype=kind)
    check(
        q, k, v, dtype=dtype, score_mod=lambda s, b, h, q, kv: 5 * (s / 5).tanh(),
        mask_mod=lambda b, h, q, kv: q >= kv,
        dense_score=lambda s, b, h, q, kv: 5 * np.tanh(s / 5), dense_mask=lambda b, h, q, kv: q >= kv,
    )  # fmt: skip


def test_numpy_tables_in_closures_are_captures(rng):
    q, k, v = operands(rng)
    doc = np.sort(rng.integers(0, 6, 80))
    slopes = rng.standard_normal(4).astype(np.float32)
    check(
        q, k, v, score_mod=lambda s, b, h, q, kv: s + slopes[h] * (kv - q),
        mask_mod=lambda b, h, q, kv: doc[q] == doc[kv],
        dense_score=lambda s, b, h, q, kv: s + slopes[h].astype(np.float64) * (kv - q),
        dense_mask=lambda b, h, q, kv: doc[q] == doc[kv],
    )  # fmt: skip


def test_numpy_tables_kept_as_attributes_need_capture(rng):
    q, k, v = operands(rng)

    class Mod:
        def __init__(self, table):
            self.table = table

        def __call__(self, s, b, h, q, kv):
            return s + self.table[h]

    table = rng.standard_normal(4)
    with pytest.raises(tw.TraceError, match="tilewright.capture"):
        tw.attention(q, k, v, score_mod=Mod(table))
    got = tw.attention(q, k, v, score_mod=Mod(tw.capture(table)))
    same = tw.attention(q, k, v)
    np.testing.assert_allclose(got, same, atol=1e-5)


def test_strided_readonly_and_reversed_arrays(rng):
    q, k, v = operands(rng, q_len=64, kv_len=64)
    base = np.ascontiguousarray(q.transpose(0, 2, 1, 3))
    view = base.transpose(0, 2, 1, 3)
    reversed_k, reversed_v = k[:, :, ::-1], v[:, :, ::-1]
    frozen = v.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(tw.attention(view, k, frozen), tw.attention(q, k, v))
    np.testing.assert_allclose(tw.attention(q, reversed_k, reversed_v), tw.attention(q, k, v), atol=1e-5)


def test_broadcast_batch_and_scale(rng):
    q, k, v = operands(rng, batch=3)
    check(q, k[:1], v[:1], scale=-0.3)


def test_empty_rows_are_zero_and_minus_infinity(rng):
    q, k, v = operands(rng)
    got = check(q, k, v, mask_mod=lambda b, h, q, kv: (kv <= q) & (h != 1),
                dense_mask=lambda b, h, q, kv: (kv <= q) & (h != 1))  # fmt: skip
    assert (got.out[:, 1] == 0).all() and np.isneginf(got.lse[:, 1]).all()


class Dlpack:
    """A foreign array: nothing but the protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self, **kwargs):
        return Dlpack

    @staticmethod
    def from_dlpack(array):
        return Dlpack(np.from_dlpack(array))


def test_any_dlpack_object_in_and_the_same_kind_out(rng):
    q, k, v = operands(rng)
    got = tw.attention(Dlpack(q), Dlpack(k), Dlpack(v))
    assert isinstance(got, Dlpack)
    np.testing.assert_array_equal(got.array, tw.attention(q, k, v))


def test_block_lists_decide(rng):
    q, k, v = operands(rng, batch=1, heads=2, kv_heads=2, q_len=64, kv_len=64)
    lists = {
        "kv_num_blocks": np.full((1, 1, 4), 1, np.int32),
        "kv_indices": np.arange(4, dtype=np.int32).reshape(1, 1, 4, 1),
        "block_size": 16,
    }
    got = tw.attention(q, k, v, block_lists=lists)
    want = tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: q // 16 == kv // 16)
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_errors_name_what_where_expected_got(rng):
    q, k, v = operands(rng)
    with pytest.raises(tw.Error) as caught:
        tw.attention(q, k[:, :, :, :8], v)
    assert caught.value.where and caught.value.expected == "32" and caught.value.got == "8"
    assert isinstance(caught.value, ValueError)
    short = np.arange(10, dtype=np.int32)
    with pytest.raises(tw.IndexOutOfRangeError, match="short"):
        tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: short[kv] % 2 == 0)
    with pytest.raises(tw.InvalidArgumentError, match="four axes"):
        tw.attention(q[0], k, v)
    with pytest.raises(tw.InvalidArgumentError, match="not a tensor"):
        tw.attention(3, k, v)


def test_merge_partials(rng):
    q, k, v = operands(rng, kv_len=64)
    cut = (slice(0, 30), slice(30, 33), slice(33, 64))
    options = {"return_lse": True, "return_max_scores": True}
    parts = [tw.attention(q, k[:, :, part], v[:, :, part], **options) for part in cut]
    merged, whole = tw.merge_partials(*parts), tw.attention(q, k, v, **options)
    for got, want in zip(merged, whole):
        np.testing.assert_allclose(got, want, atol=1e-5)
    nothing = tw.attention(q, k, v, mask_mod=lambda b, h, i, j: j < 0, return_lse=True)
    assert np.array_equal(tw.merge_partials(nothing, whole).out, whole.out)
    with pytest.raises(tw.InvalidArgumentError, match="return_lse"):
        tw.merge_partials(whole.out, whole.out)
