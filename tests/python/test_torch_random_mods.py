"""Random mods, written as Python functions, against dense torch in fp64: output, lse and gradients.

TILEWRIGHT_RANDOM_MODS says how many to draw (30 otherwise, the same ones each time).
"""

import os

import torch
from flex_reference import dense, leaves
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.torch import AuxRequest, flex_attention

EXAMPLES = int(os.environ.get("TILEWRIGHT_RANDOM_MODS", 0))
SIZE = 64  # of the captured tables, beyond every position


def atom(kind):
    return st.tuples(st.just("atom"), st.sampled_from(kind))


NUMBERS = st.tuples(st.just("number"), st.floats(-2, 2).map(lambda x: round(x, 3)))
WHOLE = st.tuples(st.just("number"), st.integers(-40, 40))
POSITIONS = st.recursive(
    st.one_of(atom(["b", "h", "q", "kv"]), WHOLE),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "minimum", "maximum"]), inner, inner),
        st.tuples(st.sampled_from(["floordiv", "mod"]), inner, st.integers(1, 9)),
        st.tuples(st.just("abs"), inner),
    ),
    max_leaves=4,
)
SUBSCRIPTS = POSITIONS.map(lambda p: ("clamped", p))
CONDITIONS = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), POSITIONS, POSITIONS),
        st.tuples(st.just("same document"), st.just(0)),
        st.tuples(st.just("not all"), POSITIONS, st.integers(2, 5)),
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or", "xor"]), inner, inner), st.tuples(st.just("not"), inner)
    ),
    max_leaves=3,
)
VALUES = st.recursive(
    st.one_of(
        atom(["s"]), NUMBERS, st.tuples(st.just("learned row"), SUBSCRIPTS),
        st.tuples(st.just("learned pair"), SUBSCRIPTS, SUBSCRIPTS),
        st.tuples(st.just("scaled"), POSITIONS),
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul"]), inner, inner),
        st.tuples(st.sampled_from(["tanh", "sigmoid", "sin", "exp of less", "log of more", "square"]), inner),
        st.tuples(st.sampled_from(["where", "if"]), CONDITIONS, inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip
CALLS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "minimum": lambda a, b: torch.minimum(*torch_pair(a, b)), "maximum": lambda a, b: torch.maximum(*torch_pair(a, b)),
    "floordiv": lambda a, n: a // n, "mod": lambda a, n: a % n, "abs": lambda a: abs(a),
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "sin": torch.sin, "square": lambda a: a * a * 0.25,
    "exp of less": lambda a: torch.exp(-(a * a)), "log of more": lambda a: torch.log(a * a + 1),
}  # fmt: skip


def torch_pair(a, b):
    """Two whole numbers as torch's binary functions take them: at least one is a tensor or a symbol."""
    if isinstance(a, int):
        a = torch.tensor(a) if isinstance(b, torch.Tensor) else b * 0 + a
    if isinstance(b, int):
        b = torch.tensor(b) if isinstance(a, torch.Tensor) else a * 0 + b
    return a, b


def value_of(node, names, tables):
    """One expression on symbols or on index tensors: the same operators serve both."""
    kind, *parts = node
    inner = lambda part: value_of(part, names, tables)  # noqa: E731
    if kind == "atom":
        return names[parts[0]]
    if kind == "number":
        # A position in disguise, so that two numbers in a row are still symbols.
        return names["q"] * 0 + parts[0] if isinstance(parts[0], int) else names["s"] * 0 + parts[0]
    if kind == "clamped":
        return torch.clamp(inner(parts[0]), 0, SIZE - 1)
    if kind == "learned row":
        return tables["row"][inner(parts[0])]
    if kind == "learned pair":
        return tables["pair"][inner(parts[0]), inner(parts[1])]
    if kind == "scaled":
        return names["s"] * 0 + inner(parts[0]) * 0.0625
    if kind == "same document":
        return tables["document"][names["q"]] == tables["document"][names["kv"]]
    if kind == "not all":
        return inner(parts[0]) % parts[1] != 0
    if kind == "not":
        return ~inner(parts[0])
    if kind == "where":
        return torch.where(inner(parts[0]), inner(parts[1]), inner(parts[2]))
    if kind == "if":
        # Python's own branch on symbols; dense torch has no such thing.
        if isinstance(names["s"], torch.Tensor):
            return torch.where(inner(parts[0]), inner(parts[1]), inner(parts[2]))
        return inner(parts[1]) if inner(parts[0]) else inner(parts[2])
    return CALLS[kind](*[inner(p) if isinstance(p, tuple) else p for p in parts])


def mods(score_tree, mask_tree, tables):
    def score_mod(s, b, h, q, kv):
        return value_of(score_tree, {"s": s, "b": b, "h": h, "q": q, "kv": kv}, tables)

    def mask_mod(b, h, q, kv):
        return value_of(mask_tree, {"b": b, "h": h, "q": q, "kv": kv}, tables)

    return score_mod, mask_mod if mask_tree is not None else None


@settings(
    max_examples=EXAMPLES or 30, deadline=None, derandomize=not EXAMPLES, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(
    score=VALUES, mask=st.one_of(st.none(), CONDITIONS), q_len=st.integers(1, 50), kv_len=st.integers(1, 60),
    heads=st.sampled_from([(1, 1), (4, 2), (3, 1)]), dims=st.sampled_from([(8, 8), (5, 12), (16, 4)]),
)  # fmt: skip
def test_random_mods(score, mask, q_len, kv_len, heads, dims):
    draw = torch.Generator().manual_seed(5)
    make = lambda *shape: torch.randn(*shape, generator=draw, dtype=torch.float64)  # noqa: E731
    given_tensors = leaves(
        (make(2, heads[0], q_len, dims[0]), make(2, heads[1], kv_len, dims[0]), make(2, heads[1], kv_len, dims[1]),
         make(SIZE), make(SIZE, SIZE))
    )  # fmt: skip
    query, key, value, row, pair = given_tensors
    tables = {"row": row, "pair": pair, "document": torch.arange(SIZE) // 7}
    score_mod, mask_mod = mods(score, mask, tables)
    out, aux = flex_attention(
        query, key, value, score_mod, enable_gqa=True, mask_mod=mask_mod, return_aux=AuxRequest(lse=True)
    )
    want, lse = dense(query, key, value, score_mod, mask_mod)
    torch.testing.assert_close(out, want, atol=1e-10, rtol=1e-9)
    torch.testing.assert_close(aux.lse, lse, atol=1e-10, rtol=1e-10)
    up = make(*out.shape)
    # lse of a row without keys is -inf and has no gradient.
    weights = torch.where(lse.detach().isfinite(), make(*lse.shape), 0.0)
    finite = lambda stat: torch.where(lse.detach().isfinite(), stat, 0.0)  # noqa: E731
    got = torch.autograd.grad((out * up).sum() + (finite(aux.lse) * weights).sum(), given_tensors, allow_unused=True)
    wanted = torch.autograd.grad((want * up).sum() + (finite(lse) * weights).sum(), given_tensors, allow_unused=True)
    for name, a, b in zip(("query", "key", "value", "row", "pair"), got, wanted):
        a, b = (torch.zeros(()) if t is None else t for t in (a, b))
        assert (a - b).abs().max() <= 1e-9 * (1 + b.abs().max()), name
