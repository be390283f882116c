"""What functions of array libraries mean on symbols, by their names: torch's, numpy's, and methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _core
from ._error import TraceError
from ._vectors import Vector, as_entries, elementwise, reduce

Handler = Callable[..., Any]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function under every name that array libraries have for it."""

    def register(function: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = function
        return function

    return register


def refuse_out(out: Any) -> None:
    if out is not None:
        raise TraceError(
            "a mod may not write into a tensor", "out=", "a pure function", "out= given",
            "return the new score instead",
        )


def _unary(fn: str) -> Handler:
    def handler(x: Any, *, out: Any = None, inplace: bool = False) -> Any:
        refuse_out(out)
        return elementwise(fn, x)

    return handler


def _binary(fn: str) -> Handler:
    def handler(x: Any, y: Any, *, out: Any = None) -> Any:
        refuse_out(out)
        return elementwise(fn, x, y)

    return handler


_UNARY = {
    "tanh": "tanh", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log1p": "log1p", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tan": "tan",
    "sinh": "sinh", "cosh": "cosh", "atan": "atan", "arctan": "atan", "erf": "erf",
    "sigmoid": "sigmoid", "expit": "sigmoid", "relu": "relu", "silu": "silu", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "fix": "trunc", "sign": "sign", "sgn": "sign", "abs": "abs",
    "absolute": "abs", "fabs": "abs", "isnan": "isnan", "isinf": "isinf", "neg": "neg",
    "negative": "neg", "bitwise_not": "bit_not", "invert": "bit_not", "rint": "round",
}  # fmt: skip
_BINARY = {
    "mul": "mul", "multiply": "mul", "true_divide": "true_div", "floor_divide": "floor_div",
    "remainder": "floor_mod", "mod": "floor_mod", "fmod": "trunc_mod", "maximum": "max",
    "minimum": "min", "eq": "eq", "equal": "eq", "ne": "ne", "not_equal": "ne", "lt": "lt",
    "less": "lt", "le": "le", "less_equal": "le", "bitwise_and": "bit_and", "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor", "bitwise_left_shift": "shl", "left_shift": "shl",
    "bitwise_right_shift": "shr", "right_shift": "shr",
}  # fmt: skip
for _name, _fn in _UNARY.items():
    HANDLERS[_name] = _unary(_fn)
for _name, _fn in _BINARY.items():
    HANDLERS[_name] = _binary(_fn)

# Operators that reach us through a tensor on the left.
for _name, _fn in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "true_div", "floordiv": "floor_div",
    "mod": "floor_mod", "and": "bit_and", "or": "bit_or", "xor": "bit_xor", "lshift": "shl",
    "rshift": "shr", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
}.items():  # fmt: skip
    HANDLERS[f"__{_name}__"] = _binary(_fn)
    HANDLERS[f"__r{_name}__"] = lambda x, y, fn=_fn: elementwise(fn, y, x)
HANDLERS["__gt__"] = HANDLERS["gt"] = HANDLERS["greater"] = lambda x, y: elementwise("lt", y, x)
HANDLERS["__ge__"] = HANDLERS["ge"] = HANDLERS["greater_equal"] = lambda x, y: elementwise(
    "le", y, x
)
HANDLERS["__neg__"] = HANDLERS["neg"]
HANDLERS["__abs__"] = HANDLERS["abs"]
HANDLERS["__invert__"] = HANDLERS["bitwise_not"]


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
