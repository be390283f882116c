"""Attention inside torch.compile: mods become text while Dynamo traces, and one op in its graph.

Dynamo runs a mod on recording symbols, once per path of its branches. What they record is plain
constants; tensors and numbers that the mod captured become inputs of the op, so that a changed one is
neither stale nor a reason to compile again. The recorded calls are then replayed on the compiled
handles, which gives the program's text.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental import symbolic_shapes

from .._symbols import MEANINGS, key_of
from .._trace import positional_count
from ._call import autocast

# Of a condition on a float that may change: false where Dynamo would have to guess.
_surely: Any = getattr(symbolic_shapes, "guard_or_false", bool)
_MAX_PATHS = 64
_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


class _Tape:
    """What one path of a mod did, and the operands that all paths share."""

    def __init__(self, operands: _Operands, forced: list[bool]):
        self.operands = operands
        self.forced = forced
        self.decisions: list[bool] = []
        self.events: list[Any] = []

    def call(self, name: str, args: Any, kwargs: Any) -> _Recorded:
        encoded = tuple([self.encode(x) for x in args])
        named = tuple([(k, self.encode_constant(v)) for k, v in kwargs.items()])
        if name == "__pow__" and isinstance(args[1], int):
            # A small integer exponent is part of the structure.
            encoded = (encoded[0], ("constant", int(args[1])))
        self.events.append((name, encoded, named))
        return _Recorded(self, len(self.events) - 1)

    def entry(self, kind: str, name: str, arguments: Any, symbols: Any) -> _Recorded:
        """What an entry of the catalogue gives at `symbols`."""
        encoded = tuple([self.encode_argument(x) for x in arguments])
        at = tuple([self.encode(x) for x in symbols])
        self.events.append(("catalogue", (("constant", (kind, name)), ("tuple", encoded), ("tuple", at)), ()))
        return _Recorded(self, len(self.events) - 1)

    def encode_argument(self, x: Any) -> Any:
        """An argument of an entry: a number, a tensor, or mods, which are recorded apart."""
        if isinstance(x, (tuple, list)) and len(x) > 0 and callable(x[0]):
            return ("tuple", tuple([self.encode_argument(part) for part in x]))
        if not callable(x):
            plain = isinstance(x, (int, float, torch.Tensor))
            return self.encode(x if plain else torch.as_tensor(x))
        inputs = positional_count(x)
        return ("mod", (inputs, _record(x, inputs, self.operands)))

    def decide(self, symbol: _Recorded) -> bool:
        place = len(self.decisions)
        taken = self.forced[place] if place < len(self.forced) else True
        self.decisions.append(taken)
        self.events.append(("if", (("symbol", symbol.place),), ()))
        return taken

    def encode(self, x: Any) -> Any:
        if isinstance(x, _Recorded):
            return ("symbol", x.place)
        if isinstance(x, torch.Tensor):
            return ("tensor", self.operands.tensor(x))
        if isinstance(x, bool) or x is None or x is Ellipsis:
            return ("constant", x)
        if isinstance(x, int):
            return self.operands.integer(x)
        if isinstance(x, float):
            return self.operands.real(x)
        if isinstance(x, (tuple, list)):
            return ("tuple", tuple([self.encode(item) for item in x]))
        return self.encode_constant(x)

    def encode_constant(self, x: Any) -> Any:
        if isinstance(x, (_Recorded, torch.Tensor)):
            return self.encode(x)
        if isinstance(x, slice):
            return ("slice", (x.start, x.stop, x.step))
        return ("constant", x)


class _Operands:
    """Tensors and numbers that mods captured: inputs of the op."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.tensors: list[Any] = []
        self.kinds: list[Any] = []
        self.integers: list[Any] = []
        self.reals: list[Any] = []

    def tensor(self, x: Any) -> int:
        for place, known in enumerate(self.tensors):
            if known is x:
                return place
        self.tensors.append(x)
        self.kinds.append((x.dtype, x.dim()))
        return len(self.tensors) - 1

    def integer(self, x: Any) -> Any:
        if x == 0 or x == 1 or x == -1:
            return ("constant", int(x))
        self.integers.append(x)
        return ("integer", len(self.integers) - 1)

    def real(self, x: Any) -> Any:
        # Infinities alone are told apart: asking more would pin a float that may change.
        for infinity in (float("inf"), -float("inf")):
            if _surely(x == infinity):
                return ("constant", infinity)
        # A product, because Dynamo keeps a changing float symbolic in arithmetic only. On the host,
        # wherever tensors are made by default: the op reads it.
        self.reals.append(torch.ones((), dtype=torch.float64, device="cpu") * x)
        return ("real", len(self.reals) - 1)


class _Recorded:
    """A symbol that writes down what is asked of it."""

    def __init__(self, tape: _Tape, place: int):
        self.tape = tape
        self.place = place

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        registered = _registered_key(func)
        if registered:
            return MEANINGS[registered](*args, **(kwargs or {}))
        name = "__getitem__" if func.__name__ == "getitem" else func.__name__
        return _tape_of(args).call(name, args, kwargs or {})

    def record_entry(self, kind: str, name: str, arguments: Any, symbols: Any) -> Any:
        return self.tape.entry(kind, name, arguments, symbols)

    @property
    def device(self) -> torch.device:
        return self.tape.operands.device

    def __getitem__(self, index: Any) -> Any:
        return self.tape.call("__getitem__", (self, index), {})

    def subscript_of(self, tensor: Any, index: Any) -> Any:
        """`tensor[index]` where this symbol is part of the index."""
        return self.tape.call("__getitem__", (tensor, index), {})

    def __bool__(self) -> bool:
        return self.tape.decide(self)

    def __neg__(self) -> Any:
        return self.tape.call("__neg__", (self,), {})

    def __abs__(self) -> Any:
        return self.tape.call("__abs__", (self,), {})

    def __invert__(self) -> Any:
        return self.tape.call("__invert__", (self,), {})

    def __getattr__(self, name: str) -> Any:
        def method(*args: Any, **kwargs: Any) -> Any:
            return self.tape.call(name, (self, *args), kwargs)

        return method

    __hash__ = object.__hash__


def _binary_method(name: str) -> Any:
    def method(self: _Recorded, other: Any) -> Any:
        return self.tape.call(name, (self, other), {})

    return method


for _name in _OPERATORS:
    for _prefix in ("", "r"):
        setattr(_Recorded, f"__{_prefix}{_name}__", _binary_method(f"__{_prefix}{_name}__"))
for _name in _COMPARISONS:
    setattr(_Recorded, f"__{_name}__", _binary_method(f"__{_name}__"))


def _tape_of(args: Any) -> _Tape:
    for x in args:
        if isinstance(x, _Recorded):
            return x.tape
        if isinstance(x, (tuple, list)):
            for item in x:
                if isinstance(item, _Recorded):
                    return item.tape
    raise TypeError("no symbol among the arguments")


def _record(mod: Any, inputs: int, operands: _Operands) -> Any:
    """Every path of a mod: its decisions, events and result, as constants."""
    paths = []
    waiting: list[list[bool]] = [[]]
    while waiting:
        forced = waiting.pop()
        tape = _Tape(operands, forced)
        for _ in range(inputs):
            tape.events.append(("input", (), ()))
        result = mod(*[_Recorded(tape, place) for place in range(inputs)])
        paths.append((tuple(tape.decisions), tuple(tape.events), tape.encode(result)))
        for place in range(len(forced), len(tape.decisions)):
            waiting.append(tape.decisions[:place] + [False])
        if len(paths) + len(waiting) > _MAX_PATHS:
            raise RuntimeError(f"the mod has more than {_MAX_PATHS} paths")
    return tuple(paths)


@torch.compiler.assume_constant_result
def _text(score: Any, mask: Any, kinds: Any) -> str:
    """The program of recorded mods, as text whose operands are called c0, i0, r0. Nothing where it
    depends on the extents of tensors, and `kinds` do not have them."""
    from ._replay import text_of_recorded

    return text_of_recorded(score, mask, kinds)


@torch.compiler.assume_constant_result
def _registered_key(func: Any) -> str:
    """The name under which register_op knows a function, or nothing."""
    key = key_of(func)
    return key if key in MEANINGS else ""


@torch.compiler.assume_constant_result
def _teach_dynamo() -> bool:
    from ._dynamo import teach_dynamo

    teach_dynamo(_Recorded)
    return True


def call_in_graph(
    operands: Any, score_mod: Any, mask_mod: Any, *, scale: Any, lists: Any = (),
    list_sizes: Any = (), lse: bool = False, max_scores: bool = False, require_fast: bool = False,
    deterministic: bool = False,
) -> Any:  # fmt: skip
    """The op in Dynamo's graph; out, lse, max_scores."""
    _teach_dynamo()
    query, key, value = autocast(*operands)
    captured = _Operands(query.device)
    mask = None if mask_mod is None else _record(mask_mod, 4, captured)
    score = None if score_mod is None else _record(score_mod, 5, captured)
    text = _text(score, mask, tuple(captured.kinds))
    if not text:
        # Rows are used whole: their lengths are part of the program.
        kinds = [(*kind, tuple([int(n) for n in x.shape])) for kind, x in zip(captured.kinds, captured.tensors)]
        text = _text(score, mask, tuple(kinds))
    return torch.ops.tilewright.forward(
        query, key, value, captured.tensors, captured.integers, [], captured.reals, list(lists),
        list(list_sizes), text, scale, lse or torch.is_grad_enabled(), max_scores, require_fast,
        deterministic,
    )  # fmt: skip
