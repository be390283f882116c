"""What meets a symbol in an operator, and the captures of the trace that is running."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from . import _core
from ._error import TraceError
from ._tensors import is_numpy, is_torch, view_of
from ._vectors import Subscript, Vector, describe, pick


class TraceContext:
    """Captured tensors of one trace by name, and what symbols answer when asked for dtype or device."""

    def __init__(self, mods: tuple[Any, ...], device: Any = None, dtype: Any = None):
        self.mods = mods
        self.device = device
        self.dtype = dtype
        self.tensors: dict[str, Any] = {}
        self.views: dict[int, tuple[str, Any]] = {}
        self._found: dict[int, str] | None = None

    def name_of(self, tensor: Any) -> str:
        """How the mod's source calls a tensor, where that can be seen."""
        if self._found is None:
            self._found = {}
            for mod in self.mods:
                for name, value in reachable(mod):
                    if is_torch(value) or is_numpy(value):
                        self._found.setdefault(id(value), name)
        return self._found.get(id(tensor), "")

    def view(self, tensor: Any) -> tuple[str, Any]:
        known = self.views.get(id(tensor))
        if known is not None:
            return known
        name = self.name_of(tensor)
        if not name:
            known = self._same_as_before(tensor)
            if known is not None:
                return known
            name = f"capture{len(self.tensors)}"
        while name in self.tensors:
            name += "_"
        self.tensors[name] = tensor
        known = self.views[id(tensor)] = (name, view_of(tensor, name))
        return known

    def _same_as_before(self, tensor: Any) -> tuple[str, Any] | None:
        """A tensor that the mod makes anew whenever it runs, such as a slice, is one capture."""
        for name, other in self.tensors.items():
            if type(other) is not type(tensor) or other.dtype != tensor.dtype:
                continue
            if other.shape == tensor.shape and _equal(other, tensor):
                return self.views[id(other)]
        return None


def reachable(mod: Any, depth: int = 4) -> Iterator[tuple[str, Any]]:
    """Names and values that a callable's source can mean: closures, globals, attributes, partials."""
    if depth == 0:
        return
    for attribute in ("func", "__wrapped__"):
        inner = getattr(mod, attribute, None)
        if callable(inner):
            yield from reachable(inner, depth - 1)
    owner = getattr(mod, "__self__", None)
    if owner is None and not hasattr(mod, "__code__"):
        owner = mod
    yield from attributes_of(owner)
    if hasattr(mod, "__func__"):
        mod = mod.__func__
    elif not hasattr(mod, "__code__"):
        mod = getattr(type(mod), "__call__", None)
    code = getattr(mod, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, getattr(mod, "__closure__", None) or ()):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        yield name, value
        if hasattr(value, "__code__"):
            yield from reachable(value, depth - 1)
        else:
            yield from attributes_of(value, prefix=f"{name}.")
    for name in code.co_names:
        if name in mod.__globals__:
            value = mod.__globals__[name]
            yield name, value


def attributes_of(owner: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if owner is None:
        return
    for store in ("__dict__", "_parameters", "_buffers"):
        values = getattr(owner, store, None)
        if isinstance(values, dict):
            for name, value in list(values.items()):
                yield prefix + name, value


def _equal(a: Any, b: Any) -> bool:
    if is_torch(a):
        if (a.grad_fn is None) != (b.grad_fn is None):
            return False
        if a.grad_fn is not None and (
            a.grad_fn.name() != b.grad_fn.name()
            or a.grad_fn.next_functions != b.grad_fn.next_functions
        ):
            return False
        if a.data_ptr() == b.data_ptr() and a.stride() == b.stride():
            return True
        return a.device == b.device and bool(((a == b) | ((a != a) & (b != b))).all())
    if is_numpy(a):
        return bool(((a == b) | ((a != a) & (b != b))).all())
    return False


class _Running(threading.local):
    context: TraceContext | None = None


_running = _Running()


def current() -> TraceContext:
    if _running.context is None:
        raise TraceError(
            "a symbolic value is used outside the tracing of its mod", "",
            "symbols only inside a score_mod or mask_mod", "", "mods must not store their arguments",
        )
    return _running.context


def enter(context: TraceContext | None) -> TraceContext | None:
    """Makes a context current on this thread; returns the one before."""
    previous = _running.context
    _running.context = context
    return previous


def name_of(tensor: Any) -> str:
    context = _running.context
    return (context.name_of(tensor) if context is not None else "") or "without a name"


def load(tensor: Any, picks: list[Any]) -> Any:
    """The element of a captured tensor at these symbols."""
    name, view = current().view(tensor)
    return _core.load(view, name, picks)


def capture_view(tensor: Any, name: str) -> Any:
    """The view of a tensor that a catalogue mod captures; remembers the tensor for gradients."""
    if isinstance(tensor, Capture):
        tensor = tensor.tensor
    if isinstance(tensor, (list, tuple)):
        import numpy

        tensor = numpy.asarray(tensor)
    return view_of(tensor, name)


def note_capture(name: str, view: Any) -> None:
    """A catalogue mod is being traced that captured this view under this name."""
    current().tensors.setdefault(name, view.owner)


def as_symbol(obj: Any) -> Any:
    """A number or symbol for what stands beside a symbol; None where the other side should answer."""
    if isinstance(obj, Subscript) and obj.ndim == 0:
        return load(obj.tensor, obj.picks)
    if isinstance(obj, Vector):
        return None
    if isinstance(obj, Capture):
        obj = obj.tensor
    if is_torch(obj) or is_numpy(obj):
        if any(extent != 1 for extent in obj.shape):
            return None
        return load(obj, [_core.position(0)] * obj.ndim)
    if isinstance(obj, int) or hasattr(obj, "__index__"):
        return int(obj)
    if isinstance(obj, float) or (hasattr(obj, "__float__") and not isinstance(obj, str)):
        return float(obj)
    return None


class Capture:
    """A tensor of any library that mods subscript with symbols: `capture(table)[h, q_idx]`."""

    def __init__(self, tensor: Any, name: str = ""):
        self.tensor = tensor
        self.name = name

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return len(self.tensor.shape)

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, index: Any) -> Any:
        if _running.context is None:
            return self.tensor[index]
        return pick(self.tensor, [None] * self.ndim, index)

    def __array__(self, *args: Any, **names: Any) -> Any:
        return self.tensor.__array__(*args, **names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tensor, name)


def capture(tensor: Any, name: str = "") -> Capture:
    """Wraps an array whose own `[]` does not understand symbols: numpy arrays kept as attributes."""
    return Capture(tensor, name)


__all__ = ["Capture", "TraceContext", "as_symbol", "capture", "describe"]
