"""Gives the compiled handles what real code asks of 0-d tensors, and clear errors for the rest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import _core, _functions
from . import _reductions as _reductions
from ._error import TraceError
from ._handlers import HANDLERS, PLAIN

_registered: dict[Any, Callable[..., Any]] = {}
# The same under names, which are what torch.compile can look up while it reads a mod.
MEANINGS: dict[str, Callable[..., Any]] = {}

_NAMES_OF_FLOATS = {"float64": "", "float32": "to_f32", "float16": "to_f16", "bfloat16": "to_bf16"}
_NAMES_OF_INTEGERS = {
    "int64": "int", "int32": "to_i32", "int16": "to_i16", "int8": "to_i8", "uint8": "to_u8",
}  # fmt: skip


class _NoSuchAttribute(TraceError, AttributeError):
    """An attribute that symbols do not have; code that probes for it sees an AttributeError."""


def register_op(op: Any, function: Callable[..., Any] | None = None) -> Any:
    """Says what a custom torch op, or an autograd.Function, means on symbols.

    `function` takes the op's arguments and returns symbols, made with ordinary operators or with
    torch functions. Usable as a decorator: `@register_op(torch.ops.my.tanh)`.
    """
    if function is None:
        return lambda f: (register_op(op, f), f)[1]
    if isinstance(op, type) and hasattr(op, "apply"):
        original = op.apply

        def apply(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(x, _core.Value) or hasattr(type(x), "record_entry") for x in args):
                return function(*args, **kwargs)
            return original(*args, **kwargs)

        op.apply = staticmethod(apply)
        setattr(op, "meaning_on_symbols", staticmethod(function))  # noqa: B010  mypy
    else:
        for known in (op, getattr(getattr(op, "_opoverload", None), "overloadpacket", None)):
            if known is not None:
                _registered[known] = function
                MEANINGS[key_of(known)] = function
        _core.forget_meanings()
    return function


def key_of(op: Any) -> str:
    """The name in MEANINGS of an op that register_op knows, or will know."""
    packet = getattr(op, "overloadpacket", None)
    known = packet if packet in _registered and op not in _registered else op
    return f"{known} {id(known)}"


def _refuse(construct: str, hint: str) -> Any:
    raise TraceError(
        f"{construct} needs the value of a symbol, which only exists inside the kernel",
        construct,
        "operations on symbols, `if`, `and`, `or`, `not`",
        "a conversion to a Python value",
        hint,
    )


def _call(name: str, args: Any, kwargs: Any) -> Any:
    handler = HANDLERS.get(name)
    return refuse_function(name) if handler is None else handler(*args, **(kwargs or {}))


def refuse_function(name: str) -> Any:
    if name.endswith("_") and not name.endswith("__"):
        hint = f"write `x = x.{name[:-1]}(...)`: mods are pure functions"
    elif name in ("rand", "randn", "rand_like", "randn_like", "bernoulli", "dropout"):
        hint = "random numbers inside a mod are not supported"
    elif name == "__setitem__":
        hint = "functions must be pure: return the new score instead of storing it"
    else:
        hint = "tilewright.register_op maps an operation to ones that symbols have"
    raise TraceError(
        f"'{name}' has no meaning on symbols",
        name,
        "element-wise operations, comparisons, where, captured tensors under subscripts",
        name,
        hint,
    )


def _subscript(tensor: Any, index: Any) -> Any:
    return _core.subscript(tensor, index)


def _embedding(index: Any, table: Any, *args: Any, **names: Any) -> Any:
    return _core.subscript(table, index)


def _index_select(table: Any, dim: Any, index: Any) -> Any:
    return _core.subscript(table, (slice(None),) * int(dim) + (index,))


def _where_method(x: Any, condition: Any, other: Any) -> Any:
    """The method: x where the condition holds."""
    return _functions.where(condition, x, other)


_SUBSCRIPTS = {"__getitem__": _subscript, "embedding": _embedding, "index_select": _index_select}


def meaning_of(func: Any) -> tuple[Any, str, int, bool, bool]:
    """What a torch function means on symbols: the handler; for operands that are plain symbols and
    numbers the text form's function, their count and whether the first is a truth value; and whether
    it is a subscript. The compiled half remembers the answer."""
    registered = _registered.get(func) or _registered.get(getattr(func, "overloadpacket", None))
    if registered is not None:
        return registered, "", 0, False, False
    name = getattr(func, "__name__", str(func)).removesuffix(".default")
    if name in _SUBSCRIPTS:
        return _SUBSCRIPTS[name], "", 0, False, name == "__getitem__"
    if name == "where" and hasattr(func, "__objclass__"):
        return _where_method, "", 0, False, False
    handler = HANDLERS.get(name)
    if handler is None:
        return lambda *args, **kwargs: refuse_function(name), "", 0, False, False
    fn, arity = PLAIN.get(name, ("", 0))
    return handler, fn, arity, fn == "select", False


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method != "__call__":
        return _refuse(f"numpy.{ufunc.__name__}.{method}", "combine symbols with operators")
    return _call(ufunc.__name__, inputs, kwargs)


def _array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return _call(func.__name__, args, kwargs)


def _as_float(x: Any) -> Any:
    return x if isinstance(x, _core.Score) else _core.apply("to_float", x)


def _as_int(x: Any) -> Any:
    if isinstance(x, _core.Bool):
        return _core.apply("select", x, 1, 0)
    return x if isinstance(x, _core.Index) else _core.apply("to_int", x)


def _cast(x: Any, dtype: Any) -> Any:
    if dtype is bool:
        return HANDLERS["any"](x)
    if dtype is int or dtype is float:
        return _as_int(x) if dtype is int else _as_float(x)
    name = str(dtype).rpartition(".")[2]
    if name == "bool":
        return HANDLERS["any"](x)
    if name in _NAMES_OF_FLOATS:
        fn = _NAMES_OF_FLOATS[name]
        # The score is computed in fp32 at least: a cast to a wide type changes nothing.
        return _as_float(x) if fn in ("", "to_f32") else _core.apply(fn, _as_float(x))
    if name in _NAMES_OF_INTEGERS:
        if isinstance(x, _core.Index) and name in ("int64", "int32"):
            return x
        integer = _as_int(x)
        fn = _NAMES_OF_INTEGERS[name]
        return integer if fn == "int" else _core.apply(fn, integer)
    raise TraceError("a symbol cannot be cast to this dtype", ".to", "a number type", str(dtype), "")


def _to(x: Any, *args: Any, **names: Any) -> Any:
    """Devices, layouts and flags mean nothing to a symbol; a dtype does."""
    for target in (*args, names.get("dtype"), names.get("other")):
        if target is None or isinstance(target, (bool, str, int)):
            continue
        if hasattr(target, "dtype"):
            target = target.dtype
        if type(target).__name__ == "device":
            continue
        return _cast(x, target)
    return x


def _dtype(x: Any) -> Any:
    torch = sys.modules.get("torch")
    dtype = _core.trace_dtype()
    if torch is None:
        import numpy

        return numpy.dtype({"Score": "f4", "Index": "i8", "Bool": "?"}[type(x).__name__])
    if isinstance(x, _core.Score):
        return dtype if dtype is not None else torch.float32
    return torch.bool if isinstance(x, _core.Bool) else torch.int32


def _device(x: Any) -> Any:
    torch = sys.modules.get("torch")
    device = _core.trace_device()
    return device if device is not None or torch is None else torch.device("cpu")


def _constant(value: Any) -> Callable[..., Any]:
    def make(x: Any, size: Any = (), *args: Any, dtype: Any = None, **names: Any) -> Any:
        fill = value
        if value is None:
            fill = args[0] if args else names["fill_value"]
        if tuple(size if isinstance(size, (tuple, list)) else (size,)) != ():
            _refuse("a new tensor", "symbols have rank 0: ask for shape ()")
        symbol = _core.symbol(fill)
        return _cast(symbol, dtype) if dtype is not None else symbol

    return make


def _getattr(x: Any, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise _NoSuchAttribute(
        f"symbols have no '{name}'", f".{name}", "what 0-d tensors answer inside a mod", name,
        "functions must be pure and element-wise; use tilewright.register_op for your own operations",
    )


def _install() -> None:
    value = _core.Value
    methods = {
        "__torch_function__": classmethod(_core.torch_function),
        "__array_ufunc__": array_ufunc,
        "__array_function__": _array_function,
        "__getattr__": _getattr,
        "to": _to,
        "where": _where_method,
        "type_as": lambda x, other: _cast(x, other.dtype),
        "float": _as_float,
        "double": _as_float,
        "half": lambda x: _core.apply("to_f16", _as_float(x)),
        "bfloat16": lambda x: _core.apply("to_bf16", _as_float(x)),
        "int": lambda x: _cast(x, int),
        "long": lambda x: _cast(x, int),
        "bool": lambda x: _cast(x, bool),
        "new_ones": _constant(1),
        "new_zeros": _constant(0),
        "new_full": _constant(None),
        "new_tensor": lambda x, fill, **names: _core.symbol(fill),
        "dim": lambda x: 0,
        "size": lambda x, axis=None: (),
        "numel": lambda x: 1,
        "is_floating_point": lambda x: isinstance(x, _core.Score),
        "shape": property(lambda x: ()),
        "ndim": property(lambda x: 0),
        "dtype": property(_dtype),
        "device": property(_device),
        "requires_grad": property(lambda x: False),
    }
    for name in ("clone", "contiguous", "squeeze", "view", "reshape", "cpu", "cuda"):
        methods[name] = lambda x, *args, **names: x
    conversions = {
        "__float__": ("float()", "use the functions of torch, numpy or the symbol itself, not `math`"),
        "__int__": ("int()", "use .int(), which stays symbolic"),
        "__index__": ("a symbol where Python needs an integer (range, list or numpy subscripts)",
                      "loop over host values; wrap arrays with tilewright.capture"),
        "__len__": ("len()", "a symbol has no axes"),
        "__iter__": ("iteration", "a symbol has no axes"),
        "__array__": ("a numpy conversion", "wrap captured arrays with tilewright.capture"),
        "item": (".item()", "keep the value symbolic"),
        "tolist": (".tolist()", "keep the value symbolic"),
        "numpy": (".numpy()", "keep the value symbolic"),
        "detach": (".detach()", "there is no stop-gradient inside a mod"),
        "__format__": ("formatting", "tilewright.explain(..., at=(b, h, q, kv)) prints every value"),
    }  # fmt: skip
    for name, (construct, hint) in conversions.items():
        methods[name] = lambda x, *args, c=construct, h=hint, **names: _refuse(c, h)
    for name, handler in HANDLERS.items():
        if not name.startswith("__"):
            methods.setdefault(name, handler)
    for name, method in methods.items():
        setattr(value, name, method)


_install()
