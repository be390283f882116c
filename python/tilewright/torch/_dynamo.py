"""Lets Dynamo compare a recording symbol with a symbolic integer, and subscript a tensor by several.

Dynamo decides such comparisons at once, as if an object could never be compared with a number, and
looks for `__torch_function__` at a subscript but not inside a tuple of them. For our symbols both are
theirs to answer. Where Dynamo no longer has these methods, nothing is changed.
"""

from __future__ import annotations

from typing import Any

_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_done = False


def teach_dynamo(symbol_type: type) -> None:
    """Once a process, while Dynamo traces the first call."""
    global _done
    if _done:
        return
    _done = True
    try:
        from torch._dynamo.variables.user_defined import UserDefinedObjectVariable
    except ImportError:
        return

    def is_symbol(x: Any) -> bool:
        return isinstance(x, UserDefinedObjectVariable) and isinstance(x.value, symbol_type)

    _teach_comparisons(is_symbol)
    _teach_subscripts(is_symbol)


def _teach_comparisons(is_symbol: Any) -> None:
    try:
        from torch._dynamo.variables.builtin import BuiltinVariable

        original = BuiltinVariable._comparison_with_symnode
    except (ImportError, AttributeError):
        return

    def compare(self: Any, tx: Any, left: Any, right: Any) -> Any:
        name = self.fn.__name__
        if is_symbol(left):
            return left.call_method(tx, f"__{name}__", [right], {})
        if is_symbol(right):
            return right.call_method(tx, f"__{_REFLECTED[name]}__", [left], {})
        return original(self, tx, left, right)

    BuiltinVariable._comparison_with_symnode = compare
    # Handlers that were made before hold the method as it was.
    getattr(BuiltinVariable, "call_function_handler_cache", {}).clear()
    for handlers in ("_binop_handlers", "_binops"):
        getattr(getattr(BuiltinVariable, handlers, None), "cache_clear", lambda: None)()


def _teach_subscripts(is_symbol: Any) -> None:
    try:
        from torch._dynamo.variables.lists import TupleVariable
        from torch._dynamo.variables.tensor import TensorVariable

        original = TensorVariable.call_method
    except (ImportError, AttributeError):
        return

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name == "__getitem__" and len(args) == 1 and isinstance(args[0], TupleVariable):
            for item in args[0].items:
                item = item.realize() if hasattr(item, "realize") else item
                if is_symbol(item):
                    return item.call_method(tx, "subscript_of", [self, args[0]], {})
        return original(self, tx, name, args, kwargs)

    TensorVariable.call_method = call_method
