"""Builders of the catalogue's entries, masks or scores, as functions with docstrings."""

from __future__ import annotations

from typing import Any

import numpy

from . import _core
from ._error import InvalidArgumentError
from ._operands import Capture

POSITIONAL = {"masks": 4, "scores": 5}


def _never() -> bool:
    return False


# Whether torch.compile is reading the caller; tilewright.torch puts torch's answer here.
reading = [_never]


class CatalogueMod:
    """An entry with its arguments: callable with symbols, like a Python mod. What runs is compiled;
    the arguments stay in sight, so that those which are tensors or numbers can be inputs of a graph."""

    def __init__(self, kind: str, name: str, arguments: tuple[Any, ...]):
        self.kind = kind
        self.name = name
        self.arguments = arguments
        self.positional = POSITIONAL[kind]
        self.__name__ = name
        self._made: Any = None
        if not reading[0]():
            self._make()

    def _make(self) -> Any:
        if self._made is None:
            self._made = getattr(getattr(_core, self.kind), self.name)(*self.arguments)
        return self._made

    def __call__(self, *symbols: Any) -> Any:
        record = getattr(type(symbols[-1]), "record_entry", None)
        if record is not None:
            return record(symbols[-1], self.kind, self.name, self.arguments, symbols)
        made = self._make()
        if made.captures and any(_core.name_for(*one) != one[0] for one in made.captures):
            made = self._renamed()
        return made(*symbols)

    def _renamed(self) -> Any:
        """The same entry where another tensor of the program has the name of one of ours."""
        called = {id(tensor): _core.name_for(name, tensor) for name, tensor in self._make().captures}
        arguments = [
            Capture(x, called[id(x)]) if id(x) in called else x
            for x in (getattr(x, "tensor", x) for x in self.arguments)
        ]
        return getattr(getattr(_core, self.kind), self.name)(*arguments)

    def __reduce__(self) -> Any:
        return CatalogueMod, (self.kind, self.name, self.arguments)


def _table(x: Any) -> Any:
    """Numbers written as a list are a table, which stays the same object."""
    if isinstance(x, (list, tuple)) and len(x) > 0 and not callable(x[0]):
        return numpy.asarray(x)
    return x


def _builder(kind: str, name: str, parameters: tuple[str, ...], formula: str) -> Any:
    def build(*args: Any, **named: Any) -> CatalogueMod:
        values = list(args)
        for parameter in parameters[len(args) :]:
            if parameter not in named:
                break
            values.append(named.pop(parameter))
        if named or len(values) != len(parameters):
            raise InvalidArgumentError(
                "a catalogue entry got the wrong arguments", f"{kind}.{name}",
                f"({', '.join(parameters)})", f"{len(args)} arguments, {sorted(named)}",
            )
        return CatalogueMod(kind, name, tuple([_table(x) for x in values]))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{name}({', '.join(parameters)}): {formula}"
    return build


def builders(kind: str) -> dict[str, Any]:
    """Every entry of a kind, "masks" or "scores", by name."""
    parameters_of = getattr(_core, kind).PARAMETERS
    return {name: _builder(kind, name, *described) for name, described in parameters_of.items()}
