"""Recorded calls of a mod, run again on the compiled handles."""

from __future__ import annotations

import operator
from typing import Any

import torch

from .. import _core
from .._handlers import HANDLERS
from .._vectors import pick
from ._templates import BY_NAME


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
        if kind == "tuple":
            return tuple(self.decode(item, values) for item in content)
        return slice(*content) if kind == "slice" else content


def _apply(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
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
    return getattr(args[0], name)(*args[1:], **kwargs)


def _stand_in(kind: Any) -> torch.Tensor:
    dtype, rank = kind
    # Any extent but 1, which would make it a scalar.
    return torch.zeros((), dtype=dtype).expand((2,) * rank)


def text_of_recorded(score: Any, mask: Any, kinds: Any) -> str:
    stand_ins = [_stand_in(kind) for kind in kinds]
    program = _core.trace(
        None if score is None else _Replay(score, stand_ins, 5),
        None if mask is None else _Replay(mask, stand_ins, 4),
        named=[(tensor, f"c{place}") for place, tensor in enumerate(stand_ins)],
    )
    return BY_NAME + "\n" + program.text()
