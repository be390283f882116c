"""What meets a symbol in an operator, and how mods call the tensors that they capture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import _core
from ._tensors import is_numpy, is_torch, view_of
from ._vectors import Subscript, Vector


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


def names_in(*mods: Any) -> dict[int, str]:
    """Names of the tensors that mods can mean, by identity. The compiled half asks for names that it
    has not seen in closures and globals itself."""
    found: dict[int, str] = {}
    for mod in mods:
        if mod is None:
            continue
        for name, value in reachable(mod):
            if is_torch(value) or is_numpy(value):
                found.setdefault(id(value), name)
    return found


def same_capture(known: Any, tensor: Any) -> bool:
    """Whether a tensor that a mod makes anew whenever it runs, such as a slice, is this one again."""
    if known.dtype != tensor.dtype or known.shape != tensor.shape:
        return False
    return _equal(known, tensor)


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


def name_of(tensor: Any) -> str:
    return _core.name_of_capture(tensor) or "without a name"


def capture_view(tensor: Any, name: str) -> tuple[Any, str]:
    """The view of a tensor that a catalogue mod captures, which keeps the tensor for gradients, and
    what the program calls it: `name`, unless its capture has a name of its own."""
    if isinstance(tensor, Capture):
        tensor, name = tensor.tensor, tensor.name or name
    if isinstance(tensor, (list, tuple)):
        import numpy

        tensor = numpy.asarray(tensor)
    return view_of(tensor, name), name


def _on_the_host(tensor: Any) -> bool:
    """Whether this is a scalar in host memory beside a call on another device: a number of the call."""
    if not is_torch(tensor) or tensor.dim() != 0 or tensor.device.type != "cpu":
        return False
    device: Any = _core.trace_device()
    return device is not None and device.type != "cpu" and not tensor.requires_grad


def as_symbol(obj: Any) -> Any:
    """A number or symbol for what stands beside a symbol; None where the other side should answer."""
    if isinstance(obj, Subscript) and obj.ndim == 0:
        return _core.load(obj.tensor, obj.picks)
    if isinstance(obj, Vector):
        return None
    if isinstance(obj, Capture):
        obj = obj.tensor
    if is_torch(obj) or is_numpy(obj):
        if any(extent != 1 for extent in obj.shape):
            return None
        if _on_the_host(obj):
            return obj.item()
        return _core.load(obj, [_core.position(0)] * obj.ndim)
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
        if not _core.tracing():
            return self.tensor[index]
        return _core.subscript(self.tensor, index)

    def __array__(self, *args: Any, **names: Any) -> Any:
        return self.tensor.__array__(*args, **names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tensor, name)


def capture(tensor: Any, name: str = "") -> Capture:
    """Wraps an array whose own `[]` does not understand symbols: numpy arrays kept as attributes."""
    return Capture(tensor, name)


__all__ = ["Capture", "as_symbol", "capture", "capture_view", "names_in", "same_capture"]
