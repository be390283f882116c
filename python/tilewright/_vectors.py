"""Captured tensors under symbolic subscripts, and short vectors: one axis of fixed length."""

from __future__ import annotations

from typing import Any

from . import _core
from ._error import TraceError
from ._tensors import is_numpy, is_torch

MAX_ENTRIES = 512


class Vector:
    """Symbols side by side. Operators work entry by entry; reductions give one symbol."""

    def __init__(self, entries: list[Any]):
        self._entries = entries

    @property
    def entries(self) -> list[Any]:
        return self._entries

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Any:
        return iter(self.entries)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, slice)):
            picked = self.entries[index]
            return Vector(picked) if isinstance(picked, list) else picked
        raise TraceError(
            "a computed vector is subscripted by a symbol", "vector[...]", "a fixed position",
            "a symbol", "subscript the captured tensor itself",
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),)

    @property
    def ndim(self) -> int:
        return 1

    def dim(self) -> int:
        return 1

    def size(self, axis: int | None = None) -> Any:
        return self.shape if axis is None else self.shape[axis]

    def numel(self) -> int:
        return len(self)

    def to(self, *args: Any, **names: Any) -> Vector:
        return Vector([entry.to(*args, **names) for entry in self.entries])

    def float(self) -> Vector:
        return Vector([entry.float() for entry in self.entries])

    def __getattr__(self, name: str) -> Any:
        from ._handlers import HANDLERS

        if name.startswith("__") or name not in HANDLERS:
            raise AttributeError(f"a vector of symbols has no '{name}'")
        return lambda *args, **names: HANDLERS[name](self, *args, **names)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _core.Value.__torch_function__(func, types, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from ._symbols import array_ufunc

        return array_ufunc(self, ufunc, method, *inputs, **kwargs)

    def __pow__(self, other: Any) -> Vector:
        return Vector([entry**other for entry in self.entries])

    def __matmul__(self, other: Any) -> Any:
        from ._reductions import dot

        return dot(self, other)

    __hash__ = object.__hash__


def _install_operators() -> None:
    rows = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "true_div", "floordiv": "floor_div",
        "mod": "floor_mod", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
    }  # fmt: skip
    for python, fn in rows.items():
        setattr(Vector, f"__{python}__", lambda a, b, fn=fn: elementwise(fn, a, b))
        setattr(Vector, f"__r{python}__", lambda a, b, fn=fn: elementwise(fn, b, a))
    for python, fn in {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le"}.items():
        setattr(Vector, f"__{python}__", lambda a, b, fn=fn: elementwise(fn, a, b))
    setattr(Vector, "__gt__", lambda a, b: elementwise("lt", b, a))
    setattr(Vector, "__ge__", lambda a, b: elementwise("le", b, a))
    setattr(Vector, "__neg__", lambda a: elementwise("neg", a))
    setattr(Vector, "__abs__", lambda a: elementwise("abs", a))
    setattr(Vector, "__invert__", lambda a: elementwise("bit_not", a))


class Subscript(Vector):
    """A captured tensor with some axes picked. One free axis: a vector. None: `pick` gave a symbol."""

    def __init__(self, tensor: Any, picks: list[Any]):
        self.tensor = tensor
        self.picks = picks
        super().__init__([])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(n for n, pick in zip(self.tensor.shape, self.picks) if pick is None)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def entries(self) -> list[Any]:
        if not self._entries:
            self._entries = self._load_entries()
        return self._entries

    def __len__(self) -> int:
        return self.shape[0]

    def _load_entries(self) -> list[Any]:
        free = [axis for axis, pick in enumerate(self.picks) if pick is None]
        if len(free) != 1:
            raise TraceError(
                "a captured tensor has axes without subscripts",
                describe(self.tensor),
                "a subscript for every axis, or for all but one",
                f"{len(free)} axes left of {len(self.picks)}",
                "subscript with b, h, q_idx, kv_idx or fixed positions",
            )
        length = int(self.tensor.shape[free[0]])
        if length > MAX_ENTRIES:
            raise TraceError(
                "a captured row is too long for a vector",
                describe(self.tensor),
                f"at most {MAX_ENTRIES} entries",
                str(length),
                "fold long dot products into query and key, with the scale to match",
            )
        picks = list(self.picks)
        result = []
        for position in range(length):
            picks[free[0]] = _core.position(position)
            result.append(_core.load(self.tensor, picks))
        return result

    def __getitem__(self, index: Any) -> Any:
        return pick(self.tensor, self.picks, index)


def describe(tensor: Any) -> str:
    from ._operands import name_of

    return f"captured tensor '{name_of(tensor)}' of shape {tuple(tensor.shape)}"


def _is_position(item: Any) -> bool:
    if isinstance(item, (bool, slice)) or item is None or item is Ellipsis:
        return False
    if isinstance(item, (int, _core.Value, _core.Number)):
        return True
    if isinstance(item, Vector):
        return item.ndim == 0
    return hasattr(item, "shape") and all(extent == 1 for extent in item.shape)


def _expanded(items: tuple[Any, ...], free: int) -> list[Any]:
    taken = sum(1 for item in items if item is not Ellipsis)
    result: list[Any] = []
    for item in items:
        result.extend([slice(None)] * (free - taken) if item is Ellipsis else [item])
    return result


def pick(tensor: Any, picks: list[Any], index: Any) -> Any:
    """Applies one `[...]` to the axes that are still free; a symbol once none is."""
    free = [axis for axis, picked in enumerate(picks) if picked is None]
    items = _expanded(index if isinstance(index, tuple) else (index,), len(free))
    if len(items) > len(free):
        raise TraceError(
            "a captured tensor has too many subscripts", describe(tensor), f"at most {len(free)}",
            str(len(items)), "",
        )
    picks = list(picks)
    for axis, item in zip(free, items):
        if isinstance(item, slice):
            if item != slice(None):
                tensor = tensor[(slice(None),) * axis + (item,)]
        elif _is_position(item):
            picks[axis] = _core.symbol(item)
        else:
            raise TraceError(
                "a captured tensor is subscripted by what is no position",
                describe(tensor),
                "b, h, q_idx, kv_idx, integers made of them, fixed positions, or `:`",
                type(item).__name__,
                "",
            )
    if all(picked is not None for picked in picks):
        return _core.load(tensor, picks)
    return Subscript(tensor, picks)


def pick_first(tensor: Any, index: Any) -> Any:
    """`tensor[index]` of a captured tensor, where the compiled half has not answered."""
    return pick(tensor, [None] * tensor.ndim, index)


def _is_vector(x: Any) -> bool:
    if isinstance(x, Vector):
        return True
    return (is_torch(x) or is_numpy(x)) and x.ndim >= 1 and any(n != 1 for n in x.shape)


def as_entries(x: Any) -> list[Any]:
    """The symbols of a vector, or of a captured tensor of one axis."""
    if isinstance(x, Vector):
        return x.entries
    if _is_vector(x):
        return Subscript(x, [None] * x.ndim).entries
    return [_core.symbol(x)]


def elementwise(fn: str, *operands: Any) -> Any:
    """Applies a function of the text form; vectors go entry by entry, scalars broadcast."""
    if not any(_is_vector(x) for x in operands):
        return _core.apply(fn, *operands)
    columns = [as_entries(x) for x in operands]
    length = max(len(column) for column in columns)
    for column in columns:
        if len(column) not in (1, length):
            raise TraceError(
                "two vectors have different lengths", fn, str(length), str(len(column)),
                "take both from axes of the same extent",
            )
    rows = [column if len(column) == length else column * length for column in columns]
    return Vector([_core.apply(fn, *row) for row in zip(*rows)])


def reduce(fn: str, x: Any, args: tuple[Any, ...], names: dict[str, Any]) -> Any:
    """Folds a vector into one symbol; the axis may be named, since there is only one."""
    axis = names.get("dim", names.get("axis", args[0] if args else None))
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    if axis not in (None, 0, -1) or names.get("keepdim") or names.get("keepdims"):
        raise TraceError(
            "a vector has one axis", fn, "dim 0 or -1, or none", str(names or args), ""
        )
    if isinstance(x, _core.Value):
        return x
    entries = as_entries(x)
    total = entries[0]
    for entry in entries[1:]:
        total = _core.apply(fn, total, entry)
    return total


_install_operators()
