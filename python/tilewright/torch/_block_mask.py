"""BlockMask with PyTorch's fields and methods, over a mask that needs no lists.

A mask made from a mask_mod is that mask_mod with lengths; its block lists are built, from spans and
never from N x N pairs, when somebody reads them. A mask made from lists keeps them, and kernels obey
them.
"""

from __future__ import annotations

from typing import Any

import torch

from .._error import InvalidArgumentError
from .._pictures import Mask
from .._trace import Traced, trace
from ._block_fields import LISTS, list_field, require_lists, require_rank
from ._block_lists import block_pair, covered_pairs, cropped_lists, dense_from_lists, lists_of_mask, transposed
from ._block_text import block_picture, block_report
from ._devices import indexed

DEFAULT_BLOCK = 128

try:
    from torch.nn.attention import flex_attention as _theirs

    _TorchBlockMask: Any = _theirs.BlockMask
except ImportError:
    _TorchBlockMask = object


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """The mask that keeps every pair."""
    return batch.new_ones((), dtype=torch.bool)


class BlockMask(_TorchBlockMask):
    """Which blocks of a [B, H, Q_LEN, KV_LEN] mask are empty, partial or full."""

    _fields: dict[str, Any]
    _batch_dims: tuple[int, ...]
    _broadcast: tuple[bool, ...]
    dq_kv_order_spt: Any

    for _name in LISTS:
        locals()[_name] = list_field(_name)

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Any, kv_indices: Any,
        full_kv_num_blocks: Any = None, full_kv_indices: Any = None, q_num_blocks: Any = None,
        q_indices: Any = None, full_q_num_blocks: Any = None, full_q_indices: Any = None,
        BLOCK_SIZE: Any = (DEFAULT_BLOCK, DEFAULT_BLOCK), mask_mod: Any = noop_mask, *,
        dq_write_order: Any = None, dq_write_order_full: Any = None, dq_kv_order: Any = None,
        dq_kv_order_spt: Any = None,
    ):  # fmt: skip
        values = (
            kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
            full_q_num_blocks, full_q_indices, dq_write_order, dq_write_order_full, dq_kv_order,
        )  # fmt: skip
        fields = dict(zip(LISTS, values))
        require_lists(fields)
        self._set(tuple(seq_lengths), block_pair(BLOCK_SIZE), mask_mod, kv_num_blocks.device)
        self._fields = fields
        self._lists_decide = True
        self._batch_dims = tuple(kv_indices.shape[:-2])
        self.dq_kv_order_spt = dq_kv_order_spt

    def _set(self, lengths: Any, block: Any, mask_mod: Any, device: Any) -> None:
        self.seq_lengths = lengths
        self.BLOCK_SIZE = block
        self._mask_mod = mask_mod
        self._device = indexed(torch.device(device))
        self._fields = {}
        self._lists_decide = False
        self._separate_full = True
        self._transpose = True
        self._batch_dims = (1, 1)
        self._broadcast = (False, False)
        self.dq_kv_order_spt = None

    @classmethod
    def _from_mask_mod(
        cls, mask_mod: Any, batch_dims: Any, lengths: tuple[int, int], block: Any, device: Any,
        separate_full: bool = True,
    ) -> BlockMask:  # fmt: skip
        """`batch_dims` None: for any batch (any head); reading the lists then refuses a mask that
        depends on b (on h)."""
        made = cls.__new__(cls)
        made._set(lengths, block_pair(block), mask_mod, device)
        made._batch_dims = tuple(1 if n is None else n for n in batch_dims)
        made._broadcast = tuple(n is None for n in batch_dims)
        made._separate_full = separate_full
        return made

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None, BLOCK_SIZE: Any = DEFAULT_BLOCK, mask_mod: Any = None,
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True, *,
        dq_write_order: Any = None, dq_write_order_full: Any = None, dq_kv_order: Any = None,
    ) -> BlockMask:  # fmt: skip
        """From block lists; they decide which tiles exist, with or without a mask_mod."""
        require_rank(kv_indices)
        if dq_kv_order is not None and not isinstance(dq_kv_order, (bool, torch.Tensor)):
            raise ValueError("dq_kv_order must be a bool, Tensor, or None")
        block = block_pair(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * block[0], kv_indices.shape[-1] * block[1])
        is_tensor = isinstance(dq_kv_order, torch.Tensor)
        made = cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
            BLOCK_SIZE=block, mask_mod=mask_mod if mask_mod is not None else noop_mask,
            dq_write_order=dq_write_order, dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order if is_tensor else None,
            dq_kv_order_spt=None if is_tensor else dq_kv_order,
        )  # fmt: skip
        made._transpose = compute_q_blocks
        if compute_q_blocks:
            for name in ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"):
                del made._fields[name]
        return made

    # The mask and its lists.

    @property
    def mask_mod(self) -> Any:
        return self._mask_mod

    @mask_mod.setter
    def mask_mod(self, mask_mod: Any) -> None:
        self._make_lists()
        self._lists_decide = True
        self._mask_mod = mask_mod

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def lists_decide(self) -> bool:
        """Whether kernels must obey the lists; else the mask_mod says everything."""
        return self._lists_decide

    def says_it_all(self, query: torch.Tensor, key: torch.Tensor) -> bool:
        """Whether the mask fits these operands and its mask_mod alone says what is live."""
        return (
            not self._lists_decide
            and self.seq_lengths == (query.shape[2], key.shape[2])
            and self._batch_dims[0] in (1, query.shape[0])
            and self._batch_dims[1] in (1, query.shape[1])
            and self._device == query.device
            and self._mask_mod is not noop_mask
        )

    def _grid(self) -> tuple[int, int]:
        rows, columns = (-(-n // block) for n, block in zip(self.seq_lengths, self.BLOCK_SIZE))
        return rows, columns

    def traced(self) -> Traced:
        return trace(None, self._mask_mod, device=self._device)

    def _make_lists(self) -> None:
        if "kv_num_blocks" not in self._fields:
            self._fields.update(lists_of_mask(self))
        columns = self._grid()[1]
        for prefix in ("", "full_"):
            if f"{prefix}q_num_blocks" in self._fields:
                continue
            pair: tuple[Any, Any] = (None, None)
            if self._transpose:
                counts = self._fields.get(f"{prefix}kv_num_blocks")
                pair = transposed(counts, self._fields.get(f"{prefix}kv_indices"), columns)
            self._fields[f"{prefix}q_num_blocks"], self._fields[f"{prefix}q_indices"] = pair

    # PyTorch's methods.

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self._batch_dims, *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        lengths = tuple(self.seq_lengths) if flatten else (self.seq_lengths,)
        block = tuple(self.BLOCK_SIZE) if flatten else (self.BLOCK_SIZE,)
        lists = tuple(getattr(self, name) for name in LISTS)
        return (*lengths, *lists, self.dq_kv_order_spt, *block, self.mask_mod)

    def numel(self) -> int:
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    def sparsity(self) -> float:
        """Percent of pairs whose block is empty; blocks at the edge count the pairs they have."""
        total = self.numel()
        if total == 0:
            return 0.0
        covered = covered_pairs(self.to_dense(), self.seq_lengths, self.BLOCK_SIZE)
        return 100 * (1 - covered / total)

    def to_dense(self) -> torch.Tensor:
        """Per block 1 where anything may be live, int32 [B, H, q blocks, kv blocks]."""
        columns = self._grid()[1]
        dense = dense_from_lists(self.kv_num_blocks, self.kv_indices, columns)
        if self.full_kv_num_blocks is not None:
            dense |= dense_from_lists(self.full_kv_num_blocks, self.full_kv_indices, columns)
        return dense

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """The blocks as characters, at most `limit` of the (b, h); grid_size -1: one a block."""
        return block_picture(self.to_dense(), grid_size, limit)

    def __str__(self) -> str:
        head = f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
        return head + self.to_string().strip() + "\n)"

    def __repr__(self) -> str:
        return block_report(self, LISTS[:8])

    def to(self, device: Any) -> BlockMask:
        """A mask for tensors on `device`; tensors that the mask_mod captured stay where they are."""
        made = self._copy()
        made._device = indexed(torch.device(device))
        made._fields = {
            name: value.to(device) if isinstance(value, torch.Tensor) else value
            for name, value in self._fields.items()
        }
        return made

    def _copy(self) -> BlockMask:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._fields = dict(self._fields)
        return made

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask cropped (or, where a mask_mod says it all, made anew) to other lengths."""
        if self._fields.get("dq_kv_order") is not None:
            raise NotImplementedError("adjusting a BlockMask with tensor dq_kv_order")
        made = self._copy()
        made.seq_lengths = (new_q_len, new_kv_len)
        if not self._lists_decide:
            made._fields = {}
            return made
        rows, columns = made._grid()
        if rows > self._grid()[0] or columns > self._grid()[1]:
            raise InvalidArgumentError(
                "a mask made from lists cannot grow", "_adjust", f"at most {self.seq_lengths}",
                str((new_q_len, new_kv_len)), "build the lists for the new lengths",
            )
        made._fields = cropped_lists(self._fields, self._grid()[1], (rows, columns))
        return made

    def __getitem__(self, index: Any) -> BlockMask:
        from ._slicing import sliced

        return sliced(self, index)

    def plot(self, b: int = 0, h: int = 0, cells: int = 64) -> Mask:
        """A picture of the exact mask: shows itself in notebooks, `.save("mask.svg")` in a file."""
        sizes = {
            "batch": self._batch_dims[0], "heads": self._batch_dims[1],
            "q_len": self.seq_lengths[0], "kv_len": self.seq_lengths[1],
        }  # fmt: skip
        return Mask(self.traced(), sizes, cells)

    def __reduce__(self) -> Any:
        from ._pickling import restored, saved

        return restored, saved(self)
