"""Calls as a user's type checker sees them: read by test_types, never run."""

from typing import Any

import numpy as np
import torch

import tilewright as tw
from tilewright import torch as twt

query = key = value = torch.zeros(1, 2, 16, 8)
names: list[str] = [entry.name for entry in (tw.Number("W", 256),)]


def score(s: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return s + (kv - q) * 0.5


def mask(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


blocks: twt.BlockMask = twt.create_block_mask(mask, None, None, 16, 16, device="cpu", BLOCK_SIZE=(128, 64))
dense: torch.Tensor = blocks.to_dense()
twt.flex_attention(query, key, value, score, blocks, scale=0.5, enable_gqa=True)
twt.flex_attention(query, key, value, return_aux=twt.AuxRequest(lse=True), kernel_options={"BLOCK_M": 64})
lse: torch.Tensor | None = twt.AuxOutput().lse
tw.attention(np.zeros((1, 2, 16, 8)), np.zeros((1, 2, 16, 8)), np.zeros((1, 2, 16, 8)), mask_mod=mask)
text: str = tw.Program.parse("mask = q >= kv").text()
sites: list[str] = twt.patch().sites

# What must be refused, each with the error that it gives.
twt.flex_attention(query, key)  # type: ignore[call-arg]
twt.flex_attention(query, key, value, enable_gga=True)  # type: ignore[call-arg]
twt.create_block_mask(mask, "1", None, 16, 16)  # type: ignore[arg-type]
twt.AuxRequest(lse="yes")  # type: ignore[arg-type]
tw.Program.parse(3)  # type: ignore[arg-type]
