"""Tilewright as an attention implementation of Hugging Face transformers.

    tilewright.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="tilewright")

The library builds a mask once a forward pass and hands it to every layer. Here that mask is a function
with lengths: causal, sliding window, chunks, padding and packed sequences arrive as transformers' own
mask functions, are traced, and are never laid out as Q x KV. Heads of keys and values are not repeated.
"""

from __future__ import annotations

from typing import Any

import torch

from ._error import InvalidArgumentError, UnsupportedError
from ._trace import freeze
from .torch import AuxRequest, BlockMask, create_block_mask, flex_attention


def register(name: str = "tilewright") -> str:
    """Adds `name` to transformers' attention functions and to its mask functions, and returns it.

    Both registries, always: a model whose mask function is missing would run without causality.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
    except ImportError as missing:
        raise UnsupportedError(
            "this transformers has no registry of mask functions", "tilewright.transformers.register",
            "transformers 4.53 or later", str(missing), "pip install --upgrade transformers",
        ) from missing  # fmt: skip
    AttentionMaskInterface.register(name, mask)
    AttentionInterface.register(name, attention)
    return name


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: Any = 0,
    mask_function: Any = None,
    attention_mask: torch.Tensor | None = None,
    device: Any = "cpu",
    **_: Any,
) -> BlockMask:
    """The mask of one forward pass, from transformers' mask function and its table of padding.

    `mask_function(b, h, q, kv)` takes positions of the whole sequence: rows start at `q_offset`, keys at
    `kv_offset`. `attention_mask` [B, positions] is false where a token is padding. Always returns a mask,
    also where nothing is masked, so that no layer has to guess.
    """
    padding = _padding(attention_mask, kv_length, kv_offset)

    def positions(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        q, kv = q_idx + q_offset, kv_idx + kv_offset
        live = q >= 0 if mask_function is None else mask_function(b, h, q, kv)
        return live if padding is None else live & padding[b, kv]

    # One trace serves all layers of the pass. Dynamo records the function itself.
    mod = positions if torch.compiler.is_compiling() else freeze(positions)
    return create_block_mask(mod, batch_size, None, q_length, kv_length, device=device)


def _padding(table: torch.Tensor | None, kv_length: int, kv_offset: Any) -> torch.Tensor | None:
    """The table, reaching over every key; None where no token is padding."""
    if table is None:
        return None
    table = table.to(torch.bool)
    missing = kv_length + int(kv_offset) - table.shape[-1]
    if missing > 0:
        table = torch.nn.functional.pad(table, (0, missing))
    return None if not torch.compiler.is_compiling() and bool(table.all()) else table


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """One layer's attention: query [B, Hq, Q, E], key and value [B, Hkv, KV, ...] -> [B, Q, Hq, Ev].

    `attention_mask` is what `mask` made, a table [B or 1, Hq or 1, Q, KV or more] of bool (true: live) or
    numbers (added to scores), or None. `s_aux` [Hq] are sinks: logits of a key without a value.
    """
    _refuse(dropout, kwargs)
    block_mask, table = attention_mask, None
    if isinstance(attention_mask, torch.Tensor):
        block_mask, table = None, attention_mask
    mask_mod = None
    if attention_mask is None:
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        mask_mod = _implied_mask(causal, sliding_window, query.shape[2], key.shape[2])
    elif table is not None and table.dtype == torch.bool:
        mask_mod, table = _looked_up(table), None
    result = flex_attention(
        query, key, value, _score_mod(block_mask, softcap, table, position_bias), block_mask,
        scale=scaling, enable_gqa=True, mask_mod=mask_mod,
        return_aux=None if s_aux is None else AuxRequest(lse=True),
    )  # fmt: skip
    out = result if s_aux is None else _with_sinks(result[0], result[1].lse, s_aux)
    return out.transpose(1, 2).contiguous(), None


def _refuse(dropout: float, kwargs: dict[str, Any]) -> None:
    where = "attention implementation tilewright"
    if dropout:
        raise UnsupportedError(
            "attention dropout is not supported", where, "0.0", str(dropout),
            "model.eval(), or set the config's attention dropout to 0",
        )  # fmt: skip
    if kwargs.get("output_attentions"):
        raise UnsupportedError(
            "attention probabilities are never materialised", where, "output_attentions=False", "True",
            'attn_implementation="eager" where they are wanted',
        )  # fmt: skip
    if kwargs.get("cu_seq_lens_q") is not None and kwargs.get("block_table") is not None:
        raise UnsupportedError("paged caches are not supported", where, "a dense cache", "block_table")


def _implied_mask(causal: bool, window: int | None, q_len: int, kv_len: int) -> Any:
    """What a layer without a mask means: one token sees all keys, a causal layer its past."""
    if not causal or q_len == 1:
        return None
    if q_len != kv_len:
        raise InvalidArgumentError(
            "a causal layer got no mask, and its lengths do not say where its queries stand",
            "attention_mask", "a mask, or as many queries as keys", f"{q_len} queries, {kv_len} keys",
            "build masks with transformers' create_causal_mask",
        )  # fmt: skip
    if window is None:
        return lambda b, h, q_idx, kv_idx: kv_idx <= q_idx
    return lambda b, h, q_idx, kv_idx: (kv_idx <= q_idx) & (kv_idx > q_idx - window)


def _looked_up(table: torch.Tensor) -> Any:
    """A subscript of a table [B or 1, Hq or 1, Q, KV] whose axes of extent 1 serve every index."""
    batches, heads = table.shape[:2]

    def look_up(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return table[b if batches > 1 else 0, h if heads > 1 else 0, q_idx, kv_idx]

    return look_up


def _score_mod(block_mask: Any, softcap: float | None, table: Any, bias: Any) -> Any:
    """The cap, then what is added. A cap alone is traced once for all layers of a pass."""
    if softcap is None and table is None and bias is None:
        return None
    added = [_looked_up(t) for t in (table, bias) if t is not None]

    def score_mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        if softcap is not None:
            score = softcap * torch.tanh(score / softcap)
        for term in added:
            score = score + term(b, h, q_idx, kv_idx)
        return score

    if added or not isinstance(block_mask, BlockMask) or torch.compiler.is_compiling():
        return score_mod
    # The trace lives as long as the mask of the pass does.
    caps = block_mask.__dict__.setdefault("_soft_caps", {})
    return caps.setdefault(softcap, freeze(score_mod))


def _with_sinks(out: torch.Tensor, lse: torch.Tensor, sinks: torch.Tensor) -> torch.Tensor:
    """Rows that share their softmax with one more logit: what is left is exp(lse) / (exp(lse) + exp(sink))."""
    left = torch.sigmoid(lse - sinks.to(lse.dtype).view(1, -1, 1))
    return out * left.unsqueeze(-1).to(out.dtype)
