"""From Python callables to a program: arity, numpy captures, the source line of what went wrong."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable
from typing import Any

from . import _core, _symbols  # noqa: F401  symbols get their methods when the module is imported
from ._error import InvalidArgumentError, TraceError
from ._operands import Capture
from ._tensors import is_numpy, is_torch

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


class Traced:
    """A program and the tensors that it captured, in the order of its slots."""

    __slots__ = ("program",)

    def __init__(self, program: _core.Program):
        self.program = program

    @property
    def captures(self) -> list[Any]:
        return [getattr(owner, "owner", owner) for owner in self.program.owners]


def on_host(program: _core.Program) -> _core.Program:
    """The same program over host copies of what it captured on a GPU: masks are read on the host."""
    owners: list[Any] = [getattr(owner, "owner", owner) for owner in program.owners]
    if not any(is_torch(t) and t.device.type != "cpu" for t in owners):
        return program
    copies = [t.detach().cpu() if is_torch(t) else t for t in owners]
    return program.rebound(copies, program.number_values)


class FrozenMod:
    """A mod that is traced once: later changes of what it captured by value are not seen."""

    def __init__(self, mod: Callable[..., Any]):
        self.mod = mod
        self.positional = positional_count(mod)
        self.traced: dict[int, tuple[Any, Traced]] = {}
        functools.update_wrapper(self, mod, updated=())

    def __call__(self, *args: Any) -> Any:
        return self.mod(*args)


def freeze(mod: Callable[..., Any]) -> FrozenMod:
    """Traces `mod` at its first use only. Numbers that it captured keep the value they had then;
    captured tensors are still read at every call."""
    return mod if isinstance(mod, FrozenMod) else FrozenMod(mod)


def positional_count(mod: Any) -> int:
    """Positional parameters without a default: 5 for a score_mod, 4 for a mask_mod."""
    known = getattr(mod, "positional", None)
    if isinstance(known, int):
        return known
    if isinstance(mod, types.MethodType):
        count = positional_count(mod.__func__)
        return count if count < 0 else count - 1
    code = getattr(mod, "__code__", None)
    if code is not None and isinstance(mod, types.FunctionType):
        if not code.co_flags & inspect.CO_VARARGS:
            return code.co_argcount - len(mod.__defaults__ or ())
    try:
        parameters = list(inspect.signature(mod).parameters.values())
    except (TypeError, ValueError):
        return -1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return -1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in parameters if p.kind in kinds and p.default is p.empty)


def require_arity(mod: Any, role: str, wanted: int) -> None:
    if not callable(mod):
        raise InvalidArgumentError(
            "a mod must be callable", role, f"a function of {wanted} arguments", type(mod).__name__
        )
    count = positional_count(mod)
    if count not in (wanted, -1):
        names = "score, b, h, q_idx, kv_idx" if wanted == 5 else "b, h, q_idx, kv_idx"
        raise InvalidArgumentError(
            f"a {role} takes {wanted} positional arguments", role, names, f"{count} of them",
            "a score_mod takes the score first; a mask_mod does not",
        )


def _wrapped_value(value: Any) -> Any:
    """Arrays whose `[]` refuses symbols become captures; everything else stays."""
    if is_numpy(value) and value.ndim > 0:
        return Capture(value)
    module = type(value).__module__.partition(".")[0]
    if module not in ("torch", "builtins", "numpy", "tilewright") and hasattr(value, "__dlpack__"):
        return Capture(value)
    return value


def with_captures(mod: Any) -> Any:
    """The same function with numpy arrays in its closure and globals replaced by captures."""
    if not isinstance(mod, types.FunctionType):
        return mod
    code = mod.__code__
    cells = mod.__closure__ or ()
    changed = False
    new_cells = []
    for cell in cells:
        try:
            value = cell.cell_contents
        except ValueError:
            new_cells.append(cell)
            continue
        wrapped = with_captures(value) if isinstance(value, types.FunctionType) else value
        wrapped = _wrapped_value(wrapped)
        changed = changed or wrapped is not value
        new_cells.append(cell if wrapped is value else types.CellType(wrapped))
    replaced = {}
    for name in _global_names(code):
        if name in mod.__globals__:
            value = mod.__globals__[name]
            wrapped = _wrapped_value(value)
            if wrapped is not value:
                replaced[name] = wrapped
    if not changed and not replaced:
        return mod
    names = {**mod.__globals__, **replaced} if replaced else mod.__globals__
    new = types.FunctionType(code, names, mod.__name__, mod.__defaults__, tuple(new_cells))
    new.__kwdefaults__ = mod.__kwdefaults__
    return new


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.extend(_global_names(constant))
    return tuple(names)


def facts_of_code(code: types.CodeType) -> tuple[Any, ...]:
    """Names of the closure and of globals, positional parameters, and whether there are more. Asked
    once a code object by the compiled half."""
    varargs = bool(code.co_flags & inspect.CO_VARARGS)
    return code.co_freevars, _global_names(code), code.co_argcount, varargs


def kind_of_type(kind: type) -> int:
    """What objects of a type are to a mod: 0 nothing special, 1 a tensor under its own `[]`, 2 a
    function, 3 perhaps an array that must be wrapped. Asked once a type by the compiled half."""
    if kind is types.FunctionType:
        return 2
    module = kind.__module__.partition(".")[0]
    if module == "torch":
        return 1 if hasattr(kind, "__dlpack__") else 0
    if module in ("builtins", "tilewright"):
        return 0
    if module == "numpy":
        return 3 if hasattr(kind, "__array_interface__") and kind.__name__ == "ndarray" else 0
    return 3 if hasattr(kind, "__dlpack__") else 0


def _line_of(error: BaseException) -> str:
    """File and line of the mod's own source where the error came up."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not os.path.abspath(name).startswith(_PACKAGE) and f"{os.sep}torch{os.sep}" not in name:
            place = f"{name}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _frozen_key(score_mod: Any, mask_mod: Any) -> FrozenMod | None:
    given = [mod for mod in (score_mod, mask_mod) if mod is not None]
    return given[0] if given and all(isinstance(mod, FrozenMod) for mod in given) else None


def _thawed(mod: Any) -> Any:
    return mod.mod if isinstance(mod, FrozenMod) else mod


_no_mods = _core.Program()


def program_of(score_mod: Any, mask_mod: Any, query: Any) -> _core.Program:
    """The program of mods over a torch tensor."""
    if score_mod is None and mask_mod is None:
        return _no_mods
    return trace(score_mod, mask_mod, device=query.device, dtype=query.dtype).program


def trace(score_mod: Any, mask_mod: Any, *, device: Any = None, dtype: Any = None) -> Traced:
    """Runs the mods on symbols. `device` and `dtype` are what symbols answer when asked."""
    if isinstance(score_mod, FrozenMod) or isinstance(mask_mod, FrozenMod):
        frozen = _frozen_key(score_mod, mask_mod)
        known = None if frozen is None else frozen.traced.get(id(mask_mod))
        if known is not None:
            return known[1]
        traced = trace(_thawed(score_mod), _thawed(mask_mod), device=device, dtype=dtype)
        if frozen is not None:
            frozen.traced[id(mask_mod)] = (mask_mod, traced)
        return traced
    # Errors of a mod surface through here; the frames of the caller are no place inside the mod.
    try:
        return Traced(_core.trace(score_mod, mask_mod, device, dtype))
    except TraceError as error:
        place = _line_of(error)
        if place:
            error.where = f"{place}, {error.where}" if error.where else place
        raise
