"""Recorded calls of a mod, run again on the compiled handles."""

from __future__ import annotations

import operator
from typing import Any

import torch

from .. import _core
from .._error import InvalidArgumentError, TraceError, UnsupportedError
from .._handlers import HANDLERS
from .._operands import capture
from .._symbols import refuse_function
from .._vectors import MAX_ENTRIES, pick
from ._templates import BY_NAME, one_line


# An extent that no row of a program can have.
_UNKNOWN = MAX_ENTRIES * 2


class _Replay:
    """One mod as a function of handles, from its recorded paths."""

    def __init__(self, paths: Any, stand_ins: list[torch.Tensor], inputs: int):
        self.paths = paths
        self.positional = inputs
        self.stand_ins = stand_ins

    def __call__(self, *inputs: Any) -> Any:
        values: list[Any] = list(inputs)
        taken: list[bool] = []
        path = self.paths[0]
        place = len(inputs)
        while place < len(path[1]):
            name, args, kwargs = path[1][place]
            arguments = [self.decode(x, values) for x in args]
            if name == "if":
                taken.append(bool(arguments[0]))
                values.append(None)
                path = self._path(taken)
            else:
                values.append(_apply(name, arguments, {k: self.decode(v, values) for k, v in kwargs}))
            place += 1
        return self.decode(path[2], values)

    def _path(self, taken: list[bool]) -> Any:
        for path in self.paths:
            if list(path[0][: len(taken)]) == taken:
                return path
        raise RuntimeError("a path of the mod was not recorded")

    def decode(self, x: Any, values: list[Any]) -> Any:
        kind, content = x
        if kind == "symbol":
            return values[content]
        if kind == "tensor":
            return self.stand_ins[content]
        if kind == "integer":
            return _core.Number(f"i{content}", 2)
        if kind == "real":
            return _core.Number(f"r{content}", 2.5)
        if kind == "mod":
            inputs, paths = content
            return _Replay(paths, self.stand_ins, inputs)
        if kind == "tuple":
            return tuple(self.decode(item, values) for item in content)
        return slice(*content) if kind == "slice" else content


def _entry(entry: Any, arguments: Any, symbols: Any) -> Any:
    """What an entry of the catalogue gives at symbols; its tables are called as the op's operands."""
    kind, name = entry
    named = [
        capture(x, _core.name_of_capture(x)) if isinstance(x, torch.Tensor) else x for x in arguments
    ]
    return getattr(getattr(_core, kind), name)(*named)(*symbols)


def _apply(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "catalogue":
        return _entry(*args)
    if name == "__getitem__":
        base, index = args
        if isinstance(base, torch.Tensor):
            return pick(base, [None] * base.dim(), index)
        return base[index]
    if name in HANDLERS:
        if not isinstance(args[0], torch.Tensor) and isinstance(args[0], _core.Number):
            args[0] = _core.symbol(args[0])
        return HANDLERS[name](*args, **kwargs)
    if name.startswith("__") and hasattr(operator, name):
        return getattr(operator, name)(*args)
    method = getattr(type(args[0]), name, None)
    return refuse_function(name) if method is None else method(*args, **kwargs)


def _stand_in(kind: Any) -> torch.Tensor:
    dtype, rank, *extents = kind
    shape = extents[0] if extents else (_UNKNOWN,) * rank
    return torch.zeros((), dtype=dtype, device="cpu").expand(shape)


def text_of_recorded(score: Any, mask: Any, kinds: Any) -> str:
    stand_ins = [_stand_in(kind) for kind in kinds]
    try:
        program = _core.trace(
            None if score is None else _Replay(score, stand_ins, 5),
            None if mask is None else _Replay(mask, stand_ins, 4),
            named=[(tensor, f"c{place}") for place, tensor in enumerate(stand_ins)],
        )
    except (TraceError, InvalidArgumentError, UnsupportedError):
        if all(len(kind) == 3 for kind in kinds):
            raise
        return ""
    return one_line(BY_NAME + "\n" + program.text())
