"""Block lists: counts and indices per query block, dense grids of blocks, and the way between."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core
from .._trace import on_host

_KV_LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")


def block_pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))


def dense_from_lists(counts: torch.Tensor, indices: Any, columns: int) -> torch.Tensor:
    """0/1 of every block, int32 [..., rows, columns]. Entries past a count are never read."""
    valid = torch.arange(indices.shape[-1], device=indices.device) < counts[..., None]
    target = torch.where(valid, indices.long(), columns)
    dense = torch.zeros((*indices.shape[:-1], columns + 1), dtype=torch.int32, device=counts.device)
    return dense.scatter_(-1, target, 1)[..., :columns].contiguous()


def lists_from_dense(dense: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Counts int32 [..., rows] and indices int32 [..., rows, columns], listed ones first, ascending."""
    order = torch.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(torch.int32), order.to(torch.int32).contiguous()


def transposed(counts: Any, indices: Any, columns: int) -> tuple[Any, Any]:
    if counts is None:
        return None, None
    return lists_from_dense(dense_from_lists(counts, indices, columns).transpose(-2, -1))


def lists_of_mask(mask: Any) -> dict[str, Any]:
    """The lists of keys of a mask that is its mask_mod, from spans: O(rows), whatever the lengths."""
    traced = mask.traced()
    batch, heads = mask._batch_dims
    sizes = {
        "batch": batch, "heads": heads, "q_len": mask.seq_lengths[0],
        "kv_len": mask.seq_lengths[1], "q_block": mask.BLOCK_SIZE[0],
        "broadcast_batch": mask._broadcast[0], "broadcast_heads": mask._broadcast[1],
    }  # fmt: skip
    made = _core.MaskMap.build(on_host(traced.program), sizes)
    rows, columns = mask._grid()
    lists = [torch.from_numpy(a) for a in made.block_lists(*mask.BLOCK_SIZE)]
    partial, full = (
        dense_from_lists(counts, indices, columns).expand(batch, heads, rows, columns)
        for counts, indices in (lists[:2], lists[2:])
    )
    if mask._separate_full:
        made_lists: list[Any] = [*lists_from_dense(partial), *lists_from_dense(full)]
    else:
        made_lists = [*lists_from_dense(partial | full), None, None]
    return {n: None if t is None else t.to(mask.device) for n, t in zip(_KV_LISTS, made_lists)}


def cropped_lists(fields: Any, columns: int, grid: tuple[int, int]) -> dict[str, Any]:
    """The lists of the upper left `grid` of blocks, of lists over `columns` blocks of keys."""
    made: dict[str, Any] = {}
    for prefix in ("", "full_"):
        counts = fields.get(f"{prefix}kv_num_blocks")
        pair: Any = (None, None)
        if counts is not None:
            dense = dense_from_lists(counts, fields[f"{prefix}kv_indices"], columns)
            pair = lists_from_dense(dense[..., : grid[0], : grid[1]])
        made[f"{prefix}kv_num_blocks"], made[f"{prefix}kv_indices"] = pair
    return made


def covered_pairs(dense: torch.Tensor, lengths: Any, blocks: Any) -> float:
    """Pairs inside blocks that are not empty; blocks at the edge count the pairs they have."""
    sizes = []
    for count, length, block in zip(dense.shape[-2:], lengths, blocks):
        size = torch.full((count,), block, dtype=torch.float64, device="cpu")
        if count and length % block:
            size[-1] = length % block
        sizes.append(size)
    return (dense.bool().double().cpu() * sizes[0][:, None] * sizes[1]).sum().item()
