"""The entry points of FlashAttention and of scaled_dot_product_attention, with mods added."""

from __future__ import annotations

from typing import Any

import torch

from .._error import InvalidArgumentError, UnsupportedError
from ._flex import attend
from ._packed import Packing, packed_over


def _refuse_dropout(p: float) -> None:
    if p:
        raise UnsupportedError("dropout is not supported", "dropout_p", "0.0", str(p))


def _band(shift: Any, window: tuple[int, ...], causal: bool) -> Any:
    """Keys of a window around each query, queries aligned to the last key: `shift(b, q)` is how far
    the aligned position lies behind q."""
    left, right = window
    if causal:
        right = 0 if right < 0 else min(right, 0)
    if left < 0 and right < 0:
        return None

    def band(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        distance = kv_idx - (q_idx + shift(b, q_idx))
        live = None
        if right >= 0:
            live = distance <= right
        if left >= 0:
            inside = distance >= -left
            live = inside if live is None else live & inside
        return live

    return band


def _flash_mods(softcap: float, alibi_slopes: Any, score_mod: Any, shift: Any) -> Any:
    if not softcap and alibi_slopes is None:
        return score_mod

    def flash_score(s: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        if softcap:
            s = softcap * (s / softcap).tanh()
        if alibi_slopes is not None:
            slope = alibi_slopes[h] if alibi_slopes.dim() == 1 else alibi_slopes[b, h]
            s = s - slope * (q_idx + shift(b, q_idx) - kv_idx).abs()
        return s if score_mod is None else score_mod(s, b, h, q_idx, kv_idx)

    return flash_score


def _and(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return first or second
    return lambda b, h, q_idx, kv_idx: first(b, h, q_idx, kv_idx) & second(b, h, q_idx, kv_idx)


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    *,
    score_mod: Any = None,
    mask_mod: Any = None,
    return_lse: bool = False,
) -> Any:
    """FlashAttention's entry: q [B, Q, Hq, E], k and v [B, KV, Hkv, ...]; out [B, Q, Hq, Ev].

    `causal` and `window_size` align the last query with the last key. `return_lse` adds lse
    [B, Hq, Q]. Probabilities are never materialised.
    """
    _refuse_dropout(dropout_p)
    _refuse_probabilities(return_attn_probs)
    offset = k.size(1) - q.size(1)
    shift = lambda b, q_idx: offset  # noqa: E731
    mask = _and(_band(shift, tuple(window_size), causal), mask_mod)
    score = _flash_mods(softcap, alibi_slopes, score_mod, shift)
    query, key, value = (t.transpose(1, 2) for t in (q, k, v))
    out, lse, _ = attend(
        query, key, value, score, mask, scale=softmax_scale, lse=return_lse, deterministic=deterministic
    )
    out = out.transpose(1, 2)
    return (out, lse) if return_lse else out


def _refuse_probabilities(asked: bool) -> None:
    if asked:
        raise UnsupportedError(
            "attention probabilities are never materialised", "return_attn_probs", "False", "True",
            "return_lse=True, then exp(score - lse)",
        )


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    *,
    score_mod: Any = None,
    mask_mod: Any = None,
    return_lse: bool = False,
) -> Any:
    """flash_attn_func over sequences packed end to end: q [total_q, Hq, E], k and v [total_k, Hkv,
    ...]; out [total_q, Hq, Ev], lse [Hq, total_q]. Mods see the sequence as b and positions in it."""
    _refuse_dropout(dropout_p)
    _refuse_probabilities(return_attn_probs)
    packing = Packing((cu_seqlens_q, cu_seqlens_k), q.size(0), k.size(0), q.device)
    lengths = torch.as_tensor(cu_seqlens_k).to(q.device).diff()
    shifts = (lengths - torch.as_tensor(cu_seqlens_q).to(q.device).diff()).to(torch.int32)
    shift = lambda b, q_idx: shifts[b]  # noqa: E731
    band = _band(shift, tuple(window_size), causal)
    mask = _and(band, mask_mod)
    score = _flash_mods(softcap, alibi_slopes, score_mod, shift)
    score, mask = packed_over(packing, score, mask)
    query, key, value = (t.transpose(0, 1)[None] for t in (q, k, v))
    out, lse, _ = attend(
        query, key, value, score, mask, scale=softmax_scale, lse=return_lse, deterministic=deterministic
    )
    out = out[0].transpose(0, 1)
    return (out, lse[0]) if return_lse else out


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    score_mod: Any = None,
    mask_mod: Any = None,
) -> torch.Tensor:
    """torch.nn.functional.scaled_dot_product_attention with mods: [..., heads, length, dim].

    A bool attn_mask keeps where it is True, a float one is added; both are read as [..., Q, KV]
    tables with broadcast axes. `is_causal` aligns the first query with the first key.
    """
    _refuse_dropout(dropout_p)
    if attn_mask is not None and is_causal:
        raise InvalidArgumentError(
            "attn_mask and is_causal are given together", "is_causal", "one of them", "both"
        )
    if not enable_gqa and query.size(-3) != key.size(-3):
        raise InvalidArgumentError(
            "query and key have different numbers of heads", "key", str(query.size(-3)),
            str(key.size(-3)), "enable_gqa=True shares key heads",
        )
    lead = query.shape[:-3]
    query, key, value = (t.reshape(-1, *t.shape[-3:]) for t in (query, key, value))
    score, mask = score_mod, mask_mod
    if is_causal:
        mask = _and(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, mask)
    if attn_mask is not None:
        score, mask = _with_table(attn_mask, query, key, score, mask)
    out, _, _ = attend(query, key, value, score, mask, scale=scale)
    return out.reshape(*lead, *out.shape[1:])


def _with_table(table: torch.Tensor, query: Any, key: Any, score_mod: Any, mask_mod: Any) -> Any:
    shape = (query.size(0), query.size(1), query.size(2), key.size(2))
    table = table.expand(*torch.broadcast_shapes(table.shape, shape[-table.dim() :])) if table.dim() else table
    if table.dim() > 4:
        table = table.reshape(-1, *table.shape[-3:])
    table = torch.broadcast_to(table, shape)
    if table.dtype == torch.bool:
        return score_mod, _and(lambda b, h, q_idx, kv_idx: table[b, h, q_idx, kv_idx], mask_mod)

    def biased(s: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        s = s + table[b, h, q_idx, kv_idx]
        return s if score_mod is None else score_mod(s, b, h, q_idx, kv_idx)

    return biased, mask_mod
