"""One call of the engine on torch tensors: fresh outputs, then the kernel."""

from __future__ import annotations

from typing import Any

import torch

from .. import _core
from .._tensors import torch_view

_empty_like = torch.empty_like


def empty_output(query: torch.Tensor, value_dim: int) -> torch.Tensor:
    """[B, Hq, Q, Ev] with the order of query's strides, the last axis contiguous."""
    batch, heads, q_len, head_dim = query.shape
    if value_dim == head_dim and query.is_contiguous():
        return _empty_like(query)
    strides = query.stride()
    order = sorted((0, 1, 2), key=lambda axis: strides[axis], reverse=True)
    if order == [0, 1, 2]:
        return query.new_empty((batch, heads, q_len, value_dim))
    extents = (batch, heads, q_len)
    stored = query.new_empty((*(extents[axis] for axis in order), value_dim))
    back = [order.index(axis) for axis in (0, 1, 2)]
    return stored.permute(*back, 3)


def statistic_dtype(query: torch.Tensor) -> torch.dtype:
    return torch.float64 if query.dtype == torch.float64 else torch.float32


def empty_statistic(query: torch.Tensor) -> torch.Tensor:
    """[B, Hq, Q] in fp32, or fp64 for fp64 operands."""
    if query.dtype in (torch.float32, torch.float64):
        return query.new_empty(query.shape[:3])
    return query.new_empty(query.shape[:3], dtype=torch.float32)


def block_lists(lists: Any, sizes: Any) -> Any:
    """Two or four list tensors and (q_len, kv_len, q_block, kv_block); None where there are none."""
    if not lists:
        return None
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    views: list[Any] = [torch_view(tensor, name) for tensor, name in zip(lists, names)]
    views += [None] * (4 - len(views))
    made = _core.BlockLists(tuple(map(int, sizes[:2])), tuple(map(int, sizes[2:])), tuple(views))
    made.kept = views
    return made


def run_forward(
    program: Any, operands: Any, scale: Any, lists: Any, wanted: Any, engine: Any, stream: Any = None
) -> tuple[Any, Any, Any]:
    """Fresh out, lse and max_scores; `wanted` says whether the latter two are, or None. On a GPU the
    work is enqueued on `stream`, or on torch's current one."""
    query, _, value = operands
    outputs = (
        empty_output(query, value.shape[3]),
        empty_statistic(query) if wanted[0] else None,
        empty_statistic(query) if wanted[1] else None,
    )
    engine.attention(program, operands, outputs, (scale, lists, stream, False))
    return outputs


def run_backward(program: Any, inputs: Any, outputs: Any, options: Any, engine: Any) -> None:
    """Writes d_query, d_key, d_value, each or None, and the captured gradients in a dict by name of
    their slot. `inputs`: query, key, value, out, lse, d_out, d_lse or None; `options`: scale, lists,
    deterministic."""
    scale, lists, deterministic = options
    engine.attention_backward(program, inputs, outputs, (scale, lists, None, deterministic))
