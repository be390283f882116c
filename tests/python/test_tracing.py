"""What Python mods may say, beside the same function on numbers."""

import functools
import math
import operator

import numpy as np
import pytest

import tilewright as tw
from tilewright._trace import trace

POSITIONS = [(0, 0, 0, 0), (1, 2, 9, 4), (0, 1, 3, 11), (1, 3, 17, 17)]


def at(score_mod, score, place):
    return trace(score_mod, None).program.score_at(score, place)[0]


def same(symbolic, plain=None, scores=(-1.5, 0.25, 3.0)):
    plain = plain or symbolic
    for score in scores:
        for place in POSITIONS:
            assert at(symbolic, score, place) == pytest.approx(plain(score, *place), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
@pytest.mark.parametrize("other", [2, 1.5, -3])
def test_arithmetic_of_scores(name, other):
    fn = getattr(operator, name)
    scores = (0.25, 3.0) if name == "pow" and other == 1.5 else (-1.5, 0.25, 3.0)
    same(lambda s, b, h, q, kv: fn(s, other) + 0.0, scores=scores)
    if name != "pow":
        same(lambda s, b, h, q, kv: fn(other, s), scores=scores)


@pytest.mark.parametrize("name", ["floordiv", "mod", "add", "sub", "mul", "and_", "or_", "xor"])
@pytest.mark.parametrize("other", [7, -7, 3])
def test_arithmetic_of_positions_is_pythons(name, other):
    fn = getattr(operator, name)
    same(lambda s, b, h, q, kv: s + fn(q - kv - 5, other))


def test_shifts_powers_and_division():
    same(lambda s, b, h, q, kv: s + (q << 2) + (kv >> 1) + (q - kv) ** 2 + (-q - 1) / 4)
    same(lambda s, b, h, q, kv: s + abs(q - kv) + (+q) + (-kv))
    same(lambda s, b, h, q, kv: s + (~q) + 2.0**h)


def test_comparisons_chain_and_branch():
    def mod(s, b, h, q, kv):
        if 2 <= q < 10 and not kv == 4 or h == 3:
            return s * 2
        if q != kv:
            s = s + 1
        return s if b else -s

    same(mod)


def test_loops_over_host_values_unroll():
    def mod(s, b, h, q, kv):
        for k in (1, 2, 3):
            s = s + k * (q % k if k > 1 else kv)
        return s

    same(mod)


def test_numpy_functions():
    same(lambda s, b, h, q, kv: np.tanh(s) + np.where(q > kv, np.exp(-s * s), np.abs(s)) + np.clip(s, -1, 1))
    same(lambda s, b, h, q, kv: np.maximum(s, np.float32(0.5)) + np.minimum(q, kv) + np.int64(3) * s)


def test_callables_of_every_kind():
    class Mod:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, s, b, h, q, kv):
            return s * self.factor

        def bound(self, s, b, h, q, kv):
            return s * self.factor

        @staticmethod
        def static(s, b, h, q, kv):
            return s * 3.0

    def with_extra(factor, s, b, h, q, kv):
        return s * factor

    def with_default(s, b, h, q, kv, factor=3.0):
        return s * factor

    mod = Mod(3.0)
    kinds = [mod, mod.bound, Mod.static, functools.partial(with_extra, 3.0), with_default,
             lambda s, b, h, q, kv: s * 3.0]  # fmt: skip
    texts = {trace(kind, None).program.text() for kind in kinds}
    assert len(texts) == 1


def test_wrong_arity_is_named():
    with pytest.raises(tw.InvalidArgumentError, match="mask_mod takes 4"):
        trace(None, lambda s, b, h, q, kv: q >= kv)
    with pytest.raises(tw.InvalidArgumentError, match="callable"):
        trace(3, None)


TABLE = np.arange(40.0).reshape(4, 10)


def test_captures_of_every_shape():
    scalar, nested = np.float64(2.5), np.array([3, 1, 2, 0])
    rank0 = np.array(1.25)
    same(lambda s, b, h, q, kv: s + TABLE[h, kv % 10], lambda s, b, h, q, kv: s + TABLE[h, kv % 10])
    same(lambda s, b, h, q, kv: s * scalar + rank0)
    same(lambda s, b, h, q, kv: s + TABLE[nested[h]][q % 10])
    same(lambda s, b, h, q, kv: s + TABLE[h, -1] + TABLE[-1, kv % 10])
    same(lambda s, b, h, q, kv: s + TABLE[:, 2:7][h, 1])


def test_rows_are_vectors():
    left, right = np.random.default_rng(0).standard_normal((2, 4, 20, 5))
    same(lambda s, b, h, q, kv: s + (left[h, q] * right[h, kv]).sum())
    same(lambda s, b, h, q, kv: s + np.exp(left[h, q]).mean() + left[h, q].max() - right[h, kv].min())
    same(lambda s, b, h, q, kv: s + left[h, q] @ right[h, kv])


def test_a_subscript_behind_a_branch_is_not_read_past_the_end():
    short = np.arange(8.0)
    same(lambda s, b, h, q, kv: s + short[q] if q < 8 else s)


@pytest.mark.parametrize(
    ("mod", "construct"),
    [
        (lambda s, b, h, q, kv: s + math.tanh(s), r"float\(\)"),
        (lambda s, b, h, q, kv: s * int(q), r"int\(\)"),
        (lambda s, b, h, q, kv: sum(s for _ in range(q)), "integer"),
        (lambda s, b, h, q, kv: s.item(), r"\.item"),
        (lambda s, b, h, q, kv: s @ s, "matrix product|unsupported operand"),
        (lambda s, b, h, q, kv: s.frobnicate(), "frobnicate"),
        (lambda s, b, h, q, kv: f"{s}", "formatting"),
        (lambda s, b, h, q, kv: None, "one value"),
        (lambda s, b, h, q, kv: TABLE[h], "one value"),
        (lambda s, b, h, q, kv: s + TABLE[h, q, kv], "too many subscripts"),
        (lambda s, b, h, q, kv: s + TABLE[h, 0.5], "no position"),
    ],
)
def test_what_a_mod_may_not_do(mod, construct):
    with pytest.raises((tw.TraceError, TypeError), match=construct) as caught:
        trace(mod, None)
    if isinstance(caught.value, tw.Error) and "one value" not in construct:
        assert "test_tracing.py:" in caught.value.where


def test_state_between_calls_is_refused():
    count = []

    def mod(s, b, h, q, kv):
        count.append(1)
        return s * 2.0 if len(count) % 2 else s * s

    with pytest.raises(tw.TraceError, match="pure"):
        trace(mod, None)


def test_symbols_do_not_outlive_their_trace():
    kept = []
    trace(lambda s, b, h, q, kv: (kept.append(s), s)[1], None)
    with pytest.raises(tw.TraceError):
        kept[0] + 1


def test_freeze_keeps_numbers_and_reads_tables():
    number, table = 2.0, np.ones(4)
    mod = tw.freeze(lambda s, b, h, q, kv: s * number + table[h])
    first = trace(mod, None)
    number = 5.0
    table[:] = 7
    assert trace(mod, None) is first
    assert first.program.score_at(1.0, (0, 0, 0, 0))[0] == 9.0


def test_endless_branching_is_refused():
    def mod(s, b, h, q, kv):
        while q > 0:
            q = q - 1
        return s

    with pytest.raises(tw.TraceError, match="loop|paths"):
        trace(mod, None)
