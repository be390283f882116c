"""Masks as data: the mask_mod travels as its program's text and the tensors it captured."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core
from .._tensors import view_of
from ._block_mask import BlockMask


class ProgramMask:
    """A mask_mod that comes from text; tensors that it reads are its attributes."""

    def __init__(self, text: str, captures: dict[str, Any]):
        self.text = text
        self.captures = captures
        self.__name__ = "mask_mod"
        self._program: Any = None

    def __call__(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        if self._program is None:
            self._program = _core.Program.parse(self.text)
        views = {}
        for name in self._program.capture_slots:
            views[name] = view_of(self.captures[name], name)
            _core.note_capture(name, self.captures[name])
        return _core.inline_mask(self._program, views, (b, h, q_idx, kv_idx))

    def __reduce__(self) -> Any:
        return ProgramMask, (self.text, self.captures)


def saved(mask: BlockMask) -> tuple[Any, ...]:
    mod = mask.mask_mod
    if isinstance(mod, ProgramMask):
        text, captures = mod.text, mod.captures
    else:
        traced = mask.traced()
        text = traced.program.text()
        slots = traced.program.capture_slots
        captures = {name: torch.as_tensor(t) for name, t in zip(slots, traced.captures)}
    lists = {k: v for k, v in mask._fields.items() if v is not None} if mask.lists_decide else {}
    sizes = (*mask._batch_dims, *mask.seq_lengths, *mask.BLOCK_SIZE)
    return text, captures, lists, sizes, str(mask.device), (mask._separate_full, mask._transpose)


def restored(
    text: str, captures: Any, lists: Any, sizes: Any, device: str, flags: Any
) -> BlockMask:
    """A BlockMask from what `saved` gave; safe on untrusted text."""
    made = BlockMask._from_mask_mod(
        ProgramMask(text, dict(captures)), tuple(sizes[:2]), tuple(sizes[2:4]), tuple(sizes[4:]),
        device, flags[0],
    )  # fmt: skip
    made._transpose = flags[1]
    if lists:
        made._fields = dict(lists)
        made._lists_decide = True
    return made


torch.serialization.add_safe_globals([restored, ProgramMask])
