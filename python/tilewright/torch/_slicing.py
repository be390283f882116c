"""Slices of a BlockMask that keep meaning what they meant: the mask_mod is asked at the old place."""

from __future__ import annotations

from typing import Any

import torch

from .._error import InvalidArgumentError
from ._block_mask import BlockMask


def _positions(item: Any, extent: int, axis: str) -> Any:
    """A slice or a tensor of positions; an int keeps its axis with extent 1."""
    if isinstance(item, int):
        if not -extent <= item < extent:
            raise InvalidArgumentError(
                "a BlockMask is sliced outside its blocks", axis, f"-{extent} to {extent - 1}",
                str(item), "",
            )
        start = item % extent
        return slice(start, start + 1, 1)
    if isinstance(item, slice):
        start, stop, step = item.indices(extent)
        if step == 1:
            return slice(start, max(start, stop), 1)
        return torch.arange(start, stop, step)
    positions = torch.as_tensor(item).reshape(-1).long()
    if positions.dtype == torch.bool:
        positions = positions.nonzero().reshape(-1)
    return torch.where(positions < 0, positions + extent, positions)


def _count(positions: Any) -> int:
    return positions.stop - positions.start if isinstance(positions, slice) else len(positions)


def _moved(positions: Any, index: Any) -> Any:
    """The old place of a new index along batch or heads."""
    if isinstance(positions, slice):
        return index + positions.start if positions.start else index
    return positions[index]


def _moved_query(positions: Any, block: int, q: Any) -> Any:
    if isinstance(positions, slice):
        return q + positions.start * block if positions.start else q
    return positions[q // block] * block + q % block


def _query_length(positions: Any, block: int, length: int) -> int:
    if _count(positions) == 0:
        return 0
    blocks = -(-length // block)
    last = positions.stop - 1 if isinstance(positions, slice) else int(positions[-1])
    tail = (length - last * block) if last == blocks - 1 else block
    return (_count(positions) - 1) * block + tail


def _require_inner_blocks_whole(positions: Any, blocks: int, ragged: bool) -> None:
    if isinstance(positions, slice) or not ragged or len(positions) == 0:
        return
    if bool((positions[:-1] == blocks - 1).any()):
        raise InvalidArgumentError(
            "the short last query block would no longer be the last", "BlockMask[...]",
            "the last block only at the end", str(positions.tolist()), "",
        )


def sliced(mask: BlockMask, index: Any) -> BlockMask:
    """The mask of some batches, heads and query blocks. Its Q_LEN counts the queries that are left."""
    if mask._fields.get("dq_kv_order") is not None:
        raise NotImplementedError("slicing a BlockMask with tensor dq_kv_order")
    items = index if isinstance(index, tuple) else (index,)
    items = (*items, slice(None), slice(None), slice(None))[:3]
    block, length = mask.BLOCK_SIZE[0], mask.seq_lengths[0]
    extents = (*mask._batch_dims, -(-length // block))
    names = ("batch", "heads", "query blocks")
    b_at, h_at, q_at = (_positions(i, n, name) for i, n, name in zip(items, extents, names))
    _require_inner_blocks_whole(q_at, extents[2], length % block != 0)
    inner = mask.mask_mod
    # One list for every batch (head) stays one for every batch: nothing to move.
    same_b = isinstance(b_at, slice) and b_at.start == 0
    same_h = isinstance(h_at, slice) and h_at.start == 0

    def mask_mod(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        old_b = b if same_b else _moved(b_at, b)
        old_h = h if same_h else _moved(h_at, h)
        return inner(old_b, old_h, _moved_query(q_at, block, q_idx), kv_idx)

    mask_mod.__name__ = getattr(inner, "__name__", "mask_mod")
    made = mask._copy()
    made._mask_mod = mask_mod
    made._batch_dims = (_count(b_at), _count(h_at))
    made.seq_lengths = (_query_length(q_at, block, length), mask.seq_lengths[1])
    made._fields = {}
    if mask.lists_decide:
        made._fields = _sliced_lists(mask, (b_at, h_at, q_at))
    return made


def _sliced_lists(mask: BlockMask, places: tuple[Any, Any, Any]) -> dict[str, Any]:
    fields = {}
    for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"):
        tensor = mask._fields.get(name)
        for axis, place in enumerate(places):
            if tensor is None:
                break
            if isinstance(place, slice):
                tensor = tensor.narrow(axis, place.start, place.stop - place.start)
            else:
                tensor = tensor.index_select(axis, place.to(tensor.device))
        fields[name] = tensor
    return fields
