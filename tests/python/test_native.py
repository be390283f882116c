"""tilewright.attention on arrays that are not torch's."""

import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from dense import assert_close, assert_stats, dense_numpy

import tilewright as tw


def operands(rng, batch=2, heads=4, kv_heads=2, q_len=65, kv_len=70, dim=32, value_dim=16, dtype=np.float32):
    shape = (batch, kv_heads, kv_len)
    return (
        rng.standard_normal((batch, heads, q_len, dim)).astype(dtype),
        rng.standard_normal((*shape, dim)).astype(dtype),
        rng.standard_normal((*shape, value_dim)).astype(dtype),
    )


def check(query, key, value, *, dense_score=None, dense_mask=None, dtype="float32", scale=None, **call):
    got = tw.attention(query, key, value, return_lse=True, return_max_scores=True, scale=scale, **call)
    arguments = dict(score=dense_score, mask=dense_mask, scale=scale)
    want = dense_numpy(query, key, value, **arguments)
    plain = np.float64 if dtype == "float64" else np.float32
    ref = dense_numpy(query, key, value, **arguments, dtype=plain)[0]
    if dtype in ("float16", "bfloat16"):
        ref = ref.astype(query.dtype)
    assert got.out.dtype == query.dtype
    assert_close(got.out, want[0], ref, dtype)
    assert_stats(got.lse, want[1], dtype)
    assert_stats(got.max_scores, want[2], dtype)
    return got


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


def test_numbers_are_bound_by_value_and_never_compile_again(rng):
    q, k, v = operands(rng)
    for attempt, window in enumerate((5, 9, 17, 33)):
        cap = 1.5 + window
        check(
            q, k, v, score_mod=lambda s, b, h, q, kv: cap * (s / cap).tanh(),
            mask_mod=lambda b, h, q, kv: abs(q - kv) < window,
            dense_score=lambda s, b, h, q, kv: cap * np.tanh(s / cap),
            dense_mask=lambda b, h, q, kv: abs(q - kv) < window,
        )  # fmt: skip
        if attempt == 0:
            before = tw.stats()
    after = tw.stats()
    assert after["compiles"] == before["compiles"] and after["disk_hits"] == before["disk_hits"]


def test_prepared_rebinds_by_name(rng):
    q, k, v = operands(rng)
    window = tw.Number("W", 8)
    table = rng.standard_normal(4).astype(np.float32)
    prepared = tw.prepare(
        q, k, v, score_mod=lambda s, b, h, q, kv: s * table[h],
        mask_mod=lambda b, h, q, kv: (q >= kv) & (q - kv < window), return_lse=True,
    )  # fmt: skip
    compiles = tw.stats()["compiles"]
    other = table * 2
    prepared.set("W", 20)
    prepared.bind("table", other)
    got = prepared(q[:, :, :50], k[:, :, :50], v[:, :, :50])
    want = dense_numpy(
        q[:, :, :50], k[:, :, :50], v[:, :, :50], score=lambda s, b, h, q, kv: s * other[h].astype(np.float64),
        mask=lambda b, h, q, kv: (q >= kv) & (q - kv < 20),
    )  # fmt: skip
    assert_stats(got.lse, want[1])
    assert tw.stats()["compiles"] == compiles
    assert "mask" in prepared.explain("program")


def test_text_programs(rng):
    q, k, v = operands(rng)
    doc = np.repeat(np.arange(8), 10)
    program = tw.parse("mask = (doc[q] == doc[kv]) & (q - kv < W)", doc=doc, W=4)
    got = tw.attention(q, k, v, program=program)
    want = tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: (doc[q] == doc[kv]) & (q - kv < 4))
    np.testing.assert_array_equal(got, want)
    with pytest.raises(tw.ParseError, match="line 1"):
        tw.parse("mask = q >")


def test_catalogue_mods_are_callables(rng):
    q, k, v = operands(rng, q_len=64, kv_len=64)
    ids = np.repeat(np.arange(8), 8)
    mask = tw.masks.all_of([tw.masks.documents(ids), tw.masks.causal()])
    got = tw.attention(q, k, v, score_mod=tw.scores.softcap(3), mask_mod=mask)
    want = tw.attention(q, k, v, score_mod=lambda s, b, h, q, kv: 3 * (s / 3).tanh(),
                        mask_mod=lambda b, h, q, kv: (ids[q] == ids[kv]) & (kv <= q))  # fmt: skip
    np.testing.assert_array_equal(got, want)
    assert len(tw.masks.__all__) + len(tw.scores.__all__) > 70
    with pytest.raises(tw.InvalidArgumentError, match="keys"):
        tw.masks.window()
    mixed = tw.masks.negate(lambda b, h, q, kv: q < kv)
    np.testing.assert_array_equal(
        tw.attention(q, k, v, mask_mod=mixed), tw.attention(q, k, v, mask_mod=tw.masks.causal())
    )


def test_explain_prints_every_value(rng):
    q, k, v = operands(rng)
    text = tw.explain(q, k, v, score_mod=lambda s, b, h, q, kv: s + 0.5 * (q - kv), at=(1, 3, 9, 4))
    assert "b = 1, h = 3, q = 9, kv = 4" in text
    score = float(q[1, 3, 9].astype(np.float64) @ k[1, 1, 4].astype(np.float64)) / 32**0.5
    assert float(text.split("live, score ")[1]) == pytest.approx(score + 2.5)
    assert "score" in tw.explain(q, k, v, score_mod=lambda s, b, h, q, kv: s * 2.0, stage="program")


def test_masks_show_themselves():
    mask = tw.mask(tw.masks.window(256), 1 << 20, 1 << 20)
    assert mask.live_pairs == 256 * (1 << 20) - 256 * 255 // 2
    assert mask._repr_png_().startswith(b"\x89PNG") and "<svg" in mask._repr_svg_()
    small = tw.mask(lambda b, h, q, kv: q >= kv, 40, 30)
    np.testing.assert_array_equal(small.dense()[0, 0], np.tri(40, 30, dtype=bool))
    cells = np.frombuffer(b"".join(small.grid(cells=10)), np.uint8).reshape(10, 10)
    assert (cells[np.triu_indices(10, 5)] == 0).all() and cells[-1, 0] == 2


def test_score_map_shows_a_bias():
    values = tw.score_map(lambda s, b, h, q, kv: s - (q - kv), 5, 4, mask_mod=lambda b, h, q, kv: q >= kv)
    assert values[3, 1] == -2 and np.isneginf(values[0, 1])


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


def test_log_messages_reach_logging(rng, caplog):
    q, k, v = operands(rng)
    with caplog.at_level(logging.DEBUG, "tilewright"):
        engine = tw.Engine({"cache_dir": "none", "compile_policy": "warn"})
        tw.attention(q, k, v, score_mod=lambda s, b, h, q, kv: s * 1.25 + q, engine=engine)
    assert any(record.name == "tilewright" for record in caplog.records)


def test_threads_share_the_engine(rng):
    q, k, v = operands(rng)
    want = [tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: q - kv < w) for w in range(1, 9)]
    got = [None] * 8

    def work(i):
        for _ in range(5):
            got[i] = tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: q - kv < i + 1)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)


def test_a_forked_child_computes(rng):
    q, k, v = operands(rng)
    want = tw.attention(q, k, v)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(tw.attention(q, k, v), want) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("first", ["torch", "tilewright"])
def test_import_in_both_orders(first):
    pytest.importorskip("torch")
    order = ["torch", "tilewright"] if first == "torch" else ["tilewright", "torch"]
    extra = "\nimport importlib.util as u\nfor m in ('llvmlite.binding', 'triton'):\n"
    extra += "    if u.find_spec(m.split('.')[0]): __import__(m)\n"
    code = f"import {order[0]}\nimport {order[1]}{extra}"
    code += "import numpy as np\nx = np.ones((1, 1, 8, 8), np.float32)\n"
    code += "assert (tilewright.attention(x, x, x, score_mod=lambda s, b, h, q, kv: s * s) == 1).all()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import tilewright; assert tilewright.targets()"
    subprocess.run([sys.executable, "-c", code], check=True)
