"""Ready mask mods by name, each a callable like a Python mask mod; docs/catalogue.md says where
they come from. Tables are arrays of any library."""

from __future__ import annotations

from typing import Any

from . import _core
from ._error import InvalidArgumentError


def _function(name: str, parameters: tuple[str, ...], formula: str) -> Any:
    made = getattr(_core.masks, name)

    def build(*args: Any, **named: Any) -> Any:
        values = list(args)
        for parameter in parameters[len(args) :]:
            if parameter not in named:
                break
            values.append(named.pop(parameter))
        if named or len(values) != len(parameters):
            raise InvalidArgumentError(
                "a catalogue mask got the wrong arguments", f"masks.{name}",
                f"({', '.join(parameters)})", f"{len(args)} arguments, {sorted(named)}",
            )
        return made(*values)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{name}({', '.join(parameters)}): {formula}"
    return build


for _name, (_parameters, _formula) in _core.masks.PARAMETERS.items():
    globals()[_name] = _function(_name, _parameters, _formula)

__all__ = sorted(_core.masks.PARAMETERS)  # noqa: PLE0605
