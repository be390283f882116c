"""Redirects flex_attention in code that others wrote, and says where and how often."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field
from typing import Any

from . import _block_mask, _flex, _masks

_NAMES: dict[str, Any] = {
    "flex_attention": _flex.flex_attention,
    "create_block_mask": _masks.create_block_mask,
    "create_mask": _masks.create_mask,
    "and_masks": _masks.and_masks,
    "or_masks": _masks.or_masks,
    "noop_mask": _block_mask.noop_mask,
}


@dataclass
class Redirected:
    """What patch() changed (`sites`: module and name) and how often each function was called since."""

    sites: list[str] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    _undo: list[tuple[Any, str, Any]] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        calls = ", ".join(f"{name} {count}" for name, count in sorted(self.calls.items()) if count)
        return f"tilewright: {len(self.sites)} sites redirected; calls: {calls or 'none'}"


_active: Redirected | None = None


def _counted(name: str, report: Redirected) -> Any:
    function = _NAMES[name]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        report.calls[name] = report.calls.get(name, 0) + 1
        return function(*args, **kwargs)

    return call


def _original_of(value: Any) -> Any:
    """The function behind a torch.compile wrapper, or the value itself."""
    return getattr(value, "_torchdynamo_orig_callable", value)


def patch() -> Redirected:
    """Makes PyTorch's flex_attention and its mask functions ours, in every module that has imported
    them, also where torch.compile wraps them. Undone by unpatch()."""
    global _active
    if _active is not None:
        return _active
    from torch.nn.attention import flex_attention as theirs

    report = Redirected()
    replaced = {}
    for name in _NAMES:
        original = getattr(theirs, name, None)
        if original is not None:
            replaced[id(original)] = (original, _counted(name, report))
    for module_name, module in list(sys.modules.items()):
        if module is None or module_name.partition(".")[0] == "tilewright":
            continue
        if module_name.startswith(("torch._", "torch.compiler")):
            continue
        _patch_module(module_name, module, replaced, report)
    _active = report
    return report


def _patch_module(module_name: str, module: Any, replaced: Any, report: Redirected) -> None:
    for name, value in list(getattr(module, "__dict__", {}).items()):
        try:
            found = replaced.get(id(_original_of(value)))
        except Exception:  # noqa: BLE001  lazy objects raise what they like when looked at
            continue
        if found is None:
            continue
        setattr(module, name, found[1])
        report.sites.append(f"{module_name}.{name}")
        report._undo.append((module, name, value))


def unpatch() -> None:
    """Puts back what patch() replaced."""
    global _active
    if _active is None:
        return
    for module, name, value in _active._undo:
        setattr(module, name, value)
    _active = None
