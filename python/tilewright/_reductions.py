"""Reductions of short vectors, and the vectors that mods put together."""

from __future__ import annotations

from typing import Any

from . import _core
from ._error import TraceError
from ._functions import truth
from ._handlers import handles
from ._vectors import Vector, as_entries, elementwise, reduce


@handles("stack")
def stack(values: Any, dim: int = 0) -> Vector:
    return Vector([_core.symbol(value) for value in values])


@handles("sum", "nansum")
def sum_(x: Any, *args: Any, **names: Any) -> Any:
    return reduce("add", x, args, names)


@handles("prod")
def prod(x: Any, *args: Any, **names: Any) -> Any:
    return reduce("mul", x, args, names)


@handles("amax")
def amax(x: Any, *args: Any, **names: Any) -> Any:
    return reduce("max", x, args, names)


@handles("amin")
def amin(x: Any, *args: Any, **names: Any) -> Any:
    return reduce("min", x, args, names)


@handles("max")
def max_(x: Any, *args: Any, **names: Any) -> Any:
    if len(args) == 1 and not isinstance(args[0], int):
        return elementwise("max", x, args[0])
    return amax(x, *args, **names)


@handles("min")
def min_(x: Any, *args: Any, **names: Any) -> Any:
    if len(args) == 1 and not isinstance(args[0], int):
        return elementwise("min", x, args[0])
    return amin(x, *args, **names)


@handles("mean")
def mean(x: Any, *args: Any, **names: Any) -> Any:
    return elementwise("true_div", reduce("add", x, args, names), len(as_entries(x)))


@handles("any")
def any_(x: Any, *args: Any, **names: Any) -> Any:
    return truth(x) if isinstance(x, _core.Value) else reduce("bit_or", truth(x), args, names)


@handles("all")
def all_(x: Any, *args: Any, **names: Any) -> Any:
    return truth(x) if isinstance(x, _core.Value) else reduce("bit_and", truth(x), args, names)


@handles("dot", "inner", "vdot", "matmul", "__matmul__")
def dot(x: Any, y: Any) -> Any:
    if isinstance(x, _core.Value) or isinstance(y, _core.Value):
        raise TraceError(
            "a matrix product of one score is asked for", "matmul", "element-wise operations, or "
            "the product of two captured rows", "a symbol of rank 0",
            "a mod sees one score at a time; fold matrix products into query and key",
        )
    return reduce("add", elementwise("mul", x, y), (), {})
