"""The functions of array libraries that are one function of the text form, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._error import TraceError
from ._vectors import elementwise

Handler = Callable[..., Any]
HANDLERS: dict[str, Handler] = {}
# Name: the text form's function and its operands, where all of these are plain symbols or numbers.
PLAIN: dict[str, tuple[str, int]] = {}


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
    PLAIN[_name] = (_fn, 1)
for _name, _fn in _BINARY.items():
    HANDLERS[_name] = _binary(_fn)
    PLAIN[_name] = (_fn, 2)

# Operators that reach us through a tensor on the left.
for _name, _fn in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "true_div", "floordiv": "floor_div",
    "mod": "floor_mod", "and": "bit_and", "or": "bit_or", "xor": "bit_xor", "lshift": "shl",
    "rshift": "shr", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le",
}.items():  # fmt: skip
    HANDLERS[f"__{_name}__"] = _binary(_fn)
    PLAIN[f"__{_name}__"] = (_fn, 2)
    HANDLERS[f"__r{_name}__"] = lambda x, y, fn=_fn: elementwise(fn, y, x)
HANDLERS["__gt__"] = HANDLERS["gt"] = HANDLERS["greater"] = lambda x, y: elementwise("lt", y, x)
HANDLERS["__ge__"] = HANDLERS["ge"] = HANDLERS["greater_equal"] = lambda x, y: elementwise(
    "le", y, x
)
HANDLERS["__neg__"] = HANDLERS["neg"]
HANDLERS["__abs__"] = HANDLERS["abs"]
HANDLERS["__invert__"] = HANDLERS["bitwise_not"]

# Functions with options of their own (`alpha`, `rounding_mode`, ...), called without them.
PLAIN |= {
    "add": ("add", 2), "sub": ("sub", 2), "subtract": ("sub", 2), "div": ("true_div", 2),
    "divide": ("true_div", 2), "where": ("select", 3), "clamp": ("clamp", 3), "clip": ("clamp", 3),
    "clamp_min": ("max", 2), "clamp_max": ("min", 2),
}  # fmt: skip
