"""Choice without a branch, for mods that import no array library."""

from typing import Any

from ._functions import where as _select


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; both sides are computed."""
    return _select(condition, yes, no)
