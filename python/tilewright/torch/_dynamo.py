"""Lets Dynamo compare a recording symbol with a symbolic integer.

Dynamo decides such comparisons at once, as if an object could never be compared with a number. For
our symbols the comparison is theirs to answer, as it is beside every other operand. Where Dynamo no
longer has the method, nothing is changed.
"""

from __future__ import annotations

from typing import Any

_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_done = False


def teach_comparisons(symbol_type: type) -> None:
    global _done
    if _done:
        return
    _done = True
    try:
        from torch._dynamo.variables.builtin import BuiltinVariable
        from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

        original = BuiltinVariable._comparison_with_symnode
    except (ImportError, AttributeError):
        return

    def is_symbol(x: Any) -> bool:
        return isinstance(x, UserDefinedObjectVariable) and isinstance(x.value, symbol_type)

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
