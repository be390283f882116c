"""Sequences packed end to end: mods that see positions inside a sequence, and the mask between them."""

from __future__ import annotations

from typing import Any

import torch

from .._error import InvalidArgumentError


def _bounds(cu_seqlens: Any, length: int, name: str) -> torch.Tensor:
    bounds = torch.as_tensor(cu_seqlens)
    if bounds.dim() != 1 or bounds.numel() < 1 or bounds.is_floating_point():
        raise InvalidArgumentError(
            "cu_seqlens are the bounds of packed sequences", name, "integers [sequences + 1]",
            f"{bounds.dtype} {tuple(bounds.shape)}",
        )
    if int(bounds[0]) != 0 or bool((bounds[1:] < bounds[:-1]).any()) or int(bounds[-1]) > length:
        raise InvalidArgumentError(
            "cu_seqlens must ascend from 0 to at most the packed length", name, f"0 <= ... <= {length}",
            str(bounds.tolist()),
        )
    return bounds


def _sequence_of(bounds: torch.Tensor, length: int) -> torch.Tensor:
    """The sequence of every position; past the last bound one that has no keys."""
    positions = torch.arange(length, device=bounds.device, dtype=bounds.dtype)
    return torch.searchsorted(bounds, positions, right=True).to(torch.int32) - 1


class Packing:
    """Tables of one packed call: int32, by query position."""

    def __init__(self, cu_seqlens: Any, q_len: int, kv_len: int, device: Any):
        pair = cu_seqlens if isinstance(cu_seqlens, tuple) else (cu_seqlens, cu_seqlens)
        q_bounds = _bounds(pair[0], q_len, "cu_seqlens of query").to(device)
        kv_bounds = _bounds(pair[1], kv_len, "cu_seqlens of key").to(device)
        if q_bounds.numel() != kv_bounds.numel():
            raise InvalidArgumentError(
                "query and key have different numbers of sequences", "cu_seqlens",
                str(q_bounds.numel()), str(kv_bounds.numel()),
            )
        self.sequence = _sequence_of(q_bounds, q_len)
        count = q_bounds.numel() - 1
        inside = self.sequence < count
        safe = self.sequence.clamp(max=max(count - 1, 0)).long()
        nothing = torch.zeros_like(self.sequence)
        pick = lambda table: torch.where(inside, table[safe].to(torch.int32), nothing)  # noqa: E731
        if count == 0:
            self.q_start = self.q_length = self.kv_start = self.kv_end = nothing
            return
        self.q_start = pick(q_bounds[:-1])
        self.q_length = pick(q_bounds[1:] - q_bounds[:-1])
        self.kv_start = pick(kv_bounds[:-1])
        self.kv_end = pick(kv_bounds[1:])


def packed_mods(score_mod: Any, mask_mod: Any, cu_seqlens: Any, query: Any, key: Any) -> Any:
    """The mods over packed positions: b becomes the sequence, positions count inside it."""
    if query.size(0) != 1:
        raise InvalidArgumentError(
            "packed sequences have batch 1", "query", "1", str(query.size(0)),
            "lay the sequences end to end along the length axis",
        )
    packing = Packing(cu_seqlens, query.size(2), key.size(2), query.device)
    return packed_over(packing, score_mod, mask_mod)


def packed_over(packing: Packing, score_mod: Any, mask_mod: Any) -> Any:
    sequence, q_start = packing.sequence, packing.q_start
    kv_start, kv_end = packing.kv_start, packing.kv_end

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        live = (kv_idx >= kv_start[q_idx]) & (kv_idx < kv_end[q_idx])
        if mask_mod is None:
            return live
        return live & mask_mod(
            sequence[q_idx], h, q_idx - q_start[q_idx], kv_idx - kv_start[q_idx]
        )

    if score_mod is None:
        return None, mask

    def score(s: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score_mod(
            s, sequence[q_idx], h, q_idx - q_start[q_idx], kv_idx - kv_start[q_idx]
        )

    return score, mask
