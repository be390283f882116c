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
    _teach_registered_functions(is_symbol)


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

    BuiltinVariable._comparison_with_symnode = compare  # type: ignore[method-assign]
    # Handlers that were made before hold the method as it was.
    getattr(BuiltinVariable, "call_function_handler_cache", {}).clear()
    for handlers in ("_binop_handlers", "_binops"):
        getattr(getattr(BuiltinVariable, handlers, None), "cache_clear", lambda: None)()


def _teach_registered_functions(is_symbol: Any) -> None:
    """On a symbol, `apply` of an autograd.Function is what register_op says that it means."""
    try:
        from torch._dynamo.source import AttrSource
        from torch._dynamo.variables.base import VariableTracker
        from torch._dynamo.variables.misc import AutogradFunctionVariable

        original = AutogradFunctionVariable.call_method
    except (ImportError, AttributeError):
        return

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        meaning = getattr(self.fn_cls, "meaning_on_symbols", None)
        if name != "apply" or meaning is None or not any(is_symbol(x.realize()) for x in args):
            return original(self, tx, name, args, kwargs)
        source = self.source and AttrSource(self.source, "meaning_on_symbols")
        return VariableTracker.build(tx, meaning, source).call_function(tx, args, kwargs)

    AutogradFunctionVariable.call_method = call_method  # type: ignore[method-assign]


def _teach_subscripts(is_symbol: Any) -> None:
    """Symbols inside a tuple of subscripts count among a call's arguments, as those of a list do."""
    try:
        from torch._dynamo.variables import torch_function
        from torch._dynamo.variables.lists import TupleVariable

        original = torch_function._flatten_vts
    except (ImportError, AttributeError):
        return

    def flatten(arguments: Any) -> Any:
        flat = []
        for argument in original(arguments):
            flat.append(argument)
            if not isinstance(argument, TupleVariable):
                continue
            items = [x.realize() if hasattr(x, "realize") else x for x in argument.items]
            flat.extend(x for x in items if is_symbol(x))
        return flat

    torch_function._flatten_vts = flatten  # type: ignore[assignment]
