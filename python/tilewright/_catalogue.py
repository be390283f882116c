"""Builders of the catalogue's entries, masks or scores, as functions with docstrings."""

from __future__ import annotations

from typing import Any

from . import _core
from ._error import InvalidArgumentError


def _builder(kind: str, name: str, parameters: tuple[str, ...], formula: str) -> Any:
    made = getattr(getattr(_core, kind), name)

    def build(*args: Any, **named: Any) -> Any:
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
        return made(*values)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{name}({', '.join(parameters)}): {formula}"
    return build


def builders(kind: str) -> dict[str, Any]:
    """Every entry of a kind, "masks" or "scores", by name."""
    parameters_of = getattr(_core, kind).PARAMETERS
    return {name: _builder(kind, name, *described) for name, described in parameters_of.items()}
