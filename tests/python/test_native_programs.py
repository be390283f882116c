"""Programs, numbers, catalogue and pictures of the native front end."""

import numpy as np
import pytest
from dense import assert_stats, dense_numpy
from native_calls import check, operands

import tilewright as tw


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
