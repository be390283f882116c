"""Functions of array libraries that take options, or are made of several of the text form's."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._handlers import handles, refuse_out
from ._vectors import Vector, elementwise


@handles("add")
def add(x: Any, y: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    refuse_out(out)
    return elementwise("add", x, y if alpha == 1 else elementwise("mul", alpha, y))


@handles("sub", "subtract")
def subtract(x: Any, y: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    refuse_out(out)
    return elementwise("sub", x, y if alpha == 1 else elementwise("mul", alpha, y))


@handles("rsub", "__rsub__")
def reflected_subtract(x: Any, y: Any, alpha: Any = 1) -> Any:
    return subtract(y, x, alpha=alpha)


@handles("div", "divide")
def divide(x: Any, y: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    refuse_out(out)
    fn = {None: "true_div", "floor": "floor_div", "trunc": "trunc_div"}[rounding_mode]
    return elementwise(fn, x, y)


@handles("pow", "power", "float_power", "__pow__")
def power(x: Any, y: Any) -> Any:
    return _core.symbol(x) ** y if not isinstance(x, Vector) else x**y


@handles("__rpow__")
def reflected_power(x: Any, y: Any) -> Any:
    return power(y, x)


@handles("square")
def square(x: Any) -> Any:
    return elementwise("mul", x, x)


@handles("reciprocal")
def reciprocal(x: Any) -> Any:
    return elementwise("true_div", 1.0, x)


@handles("round")
def round_(x: Any, decimals: int = 0) -> Any:
    if decimals == 0:
        return elementwise("round", x)
    factor = 10.0**decimals
    return elementwise("true_div", elementwise("round", elementwise("mul", x, factor)), factor)


@handles("where", "select")
def where(condition: Any, yes: Any, no: Any) -> Any:
    return elementwise("select", truth(condition), yes, no)


@handles("masked_fill")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return where(mask, value, x)


@handles("clamp", "clip", "hardtanh")
def clamp(x: Any, min: Any = None, max: Any = None, **names: Any) -> Any:
    low = names.get("min_val", names.get("a_min", min))
    high = names.get("max_val", names.get("a_max", max))
    if low is None:
        return x if high is None else elementwise("min", x, high)
    if high is None:
        return elementwise("max", x, low)
    return elementwise("clamp", x, low, high)


@handles("clamp_min")
def clamp_min(x: Any, min: Any) -> Any:
    return elementwise("max", x, min)


@handles("clamp_max")
def clamp_max(x: Any, max: Any) -> Any:
    return elementwise("min", x, max)


def truth(x: Any) -> Any:
    """A number as a truth value; truth values stay."""
    if isinstance(x, (bool, _core.Bool)):
        return x
    value = x if isinstance(x, Vector) else _core.symbol(x)
    return value if isinstance(value, _core.Bool) else elementwise("ne", value, 0)


@handles("logical_and")
def logical_and(x: Any, y: Any) -> Any:
    return elementwise("bit_and", truth(x), truth(y))


@handles("logical_or")
def logical_or(x: Any, y: Any) -> Any:
    return elementwise("bit_or", truth(x), truth(y))


@handles("logical_xor")
def logical_xor(x: Any, y: Any) -> Any:
    return elementwise("bit_xor", truth(x), truth(y))


@handles("logical_not")
def logical_not(x: Any) -> Any:
    return elementwise("bit_not", truth(x))


@handles("gelu")
def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return elementwise("gelu", x)
    return 0.5 * x * (1.0 + elementwise("tanh", math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


@handles("softplus")
def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    if beta == 1.0:
        return elementwise("softplus", x)
    return elementwise("true_div", elementwise("softplus", elementwise("mul", x, beta)), beta)


@handles("logsigmoid", "log_sigmoid")
def logsigmoid(x: Any) -> Any:
    return elementwise("neg", elementwise("softplus", elementwise("neg", x)))


@handles("leaky_relu")
def leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return where(x > 0, x, x * negative_slope)


@handles("elu")
def elu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return where(x > 0, x, alpha * elementwise("expm1", x))


@handles("log10")
def log10(x: Any) -> Any:
    return elementwise("mul", elementwise("log2", x), math.log10(2.0))


@handles("erfc")
def erfc(x: Any) -> Any:
    return elementwise("sub", 1.0, elementwise("erf", x))


@handles("hypot")
def hypot(x: Any, y: Any) -> Any:
    return elementwise("sqrt", x * x + y * y)


@handles("logaddexp")
def logaddexp(x: Any, y: Any) -> Any:
    top = elementwise("max", x, y)
    return top + elementwise("log1p", elementwise("exp", elementwise("neg", elementwise("abs", x - y))))


@handles("isfinite")
def isfinite(x: Any) -> Any:
    return elementwise("bit_not", elementwise("bit_or", elementwise("isnan", x), elementwise("isinf", x)))


@handles("isneginf")
def isneginf(x: Any) -> Any:
    return elementwise("eq", x, -math.inf)


@handles("isposinf")
def isposinf(x: Any) -> Any:
    return elementwise("eq", x, math.inf)


@handles("lerp")
def lerp(start: Any, end: Any, weight: Any) -> Any:
    return start + weight * (end - start)


@handles("addcmul")
def addcmul(x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
    return x + value * a * b


@handles("zeros_like")
def zeros_like(x: Any, **_: Any) -> Any:
    return _core.symbol(0.0 if isinstance(x, _core.Score) else 0)


@handles("ones_like")
def ones_like(x: Any, **_: Any) -> Any:
    return _core.symbol(1.0 if isinstance(x, _core.Score) else 1)


@handles("full_like")
def full_like(x: Any, fill_value: Any, **_: Any) -> Any:
    return _core.symbol(fill_value)
