"""Programs from their text form."""

from typing import Any

from . import _core
from ._tensors import view_of


def parse(text: str, **values: Any) -> _core.Program:
    """Reads the text form (docs/text_form.md). Keywords bind what the text reads by name: tensors
    and numbers. Safe on untrusted text."""
    numbers = {k: v for k, v in values.items() if isinstance(v, (int, float))}
    tensors = {k: view_of(v, k) for k, v in values.items() if k not in numbers}
    return _core.Program.parse(text, tensors, numbers)
