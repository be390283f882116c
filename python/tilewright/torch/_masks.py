"""Making and joining masks, with PyTorch's signatures."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

from .. import _core
from .._error import InvalidArgumentError
from .._tensors import torch_view
from .._trace import on_host, positional_count, trace
from ._block_mask import DEFAULT_BLOCK, BlockMask
from ._devices import default_device


def _require_mods(mods: Any) -> None:
    if not all(callable(mod) for mod in mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mods}")


def or_masks(*mask_mods: Any) -> Any:
    """The mask that keeps what any of these keeps."""
    _require_mods(mask_mods)

    def or_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_zeros((), dtype=torch.bool)
        for mod in mask_mods:
            result = result | mod(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Any) -> Any:
    """The mask that keeps what all of these keep."""
    _require_mods(mask_mods)

    def and_mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result = b.new_ones((), dtype=torch.bool)
        for mod in mask_mods:
            result = result & mod(b, h, q_idx, kv_idx)
        return result

    return and_mask


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> torch.Tensor:
    """The exact mask, bool [B, H, Q_LEN, KV_LEN]. Of a score_mod: False where it gives -inf."""
    count = positional_count(mod_fn)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    mask_mod = mod_fn
    if count == 5:

        def mask_mod(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            return mod_fn(_core.symbol(0.0), b, h, q_idx, kv_idx) != -math.inf

    device = default_device() if device is None else torch.device(device)
    traced = trace(None, mask_mod, device=device)
    program = on_host(traced.program)
    sizes = {"batch": B or 1, "heads": H or 1, "q_len": Q_LEN, "kv_len": KV_LEN, "q_block": 32}
    dense = torch.zeros((B or 1, H or 1, Q_LEN, KV_LEN), dtype=torch.bool, device="cpu")
    made = _core.MaskMap.build(program, sizes)
    made.write_dense(program, torch_view(dense, "mask"))
    return dense.to(device)


def create_block_mask(
    mask_mod: Any,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """A BlockMask for these exact lengths. Nothing is evaluated here: kernels classify tiles of the
    mask themselves, and the lists are built from spans when they are read."""
    if positional_count(mask_mod) not in (4, -1):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    if _compile:
        warnings.warn("_compile has no effect: the mask is not evaluated", DeprecationWarning, 2)
    for name, length in (("Q_LEN", Q_LEN), ("KV_LEN", KV_LEN)):
        if length < 0:
            raise InvalidArgumentError("a length is negative", name, ">= 0", str(length))
    device = default_device() if device is None else device
    made = BlockMask._from_mask_mod(
        mask_mod, (B, H), (Q_LEN, KV_LEN), BLOCK_SIZE, device, separate_full_blocks
    )
    if compute_dq_write_order:
        made.dq_kv_order_spt = dq_kv_order
    return made
