"""flex_attention with PyTorch's arguments, results and errors, fused without torch.compile."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, TypedDict

import torch

from .. import _core
from .._error import InvalidArgumentError, UnsupportedError
from .._trace import positional_count, program_of
from ._block_mask import BlockMask
from ._call import autocast, autocast_is_on, call, lists_of, refuse_functorch
from ._packed import packed_mods


class AuxRequest(NamedTuple):
    """Which results are wanted beside the output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for; the rest is None. lse and max_scores are [B, Hq, Q], natural units."""

    lse: torch.Tensor | None = None
    max_scores: torch.Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's Triton kernels: accepted, and without effect but for BACKEND's checks."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")
_NO_BLOCKS = 1 << 30
_warned: set[str] = set()


def _check_kernel_options(options: Any) -> None:
    options = options or {}
    if "BACKEND" in options and options.get("FORCE_USE_FLEX_ATTENTION", False):
        raise RuntimeError("BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION.")
    if options.get("BACKEND", "AUTO") not in _BACKENDS:
        raise ValueError(
            f"Invalid BACKEND value '{options['BACKEND']}'. Must be one of {_BACKENDS}"
        )
    for internal in ("OUTPUT_LOGSUMEXP", "OUTPUT_MAX"):
        if internal in options:
            raise AssertionError(f"{internal} must not be in kernel_options")


def _check_shapes(query: Any, key: Any, value: Any, enable_gqa: bool) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgumentError(
                "an operand is not a tensor", name, "a torch tensor", type(tensor).__name__
            )
        if tensor.is_nested:
            raise UnsupportedError(
                "flex_attention does not support NestedTensor inputs", name, "dense tensors", "nested",
                "pass packed tensors and cu_seqlens=",
            )
        if tensor.dim() != 4:
            raise UnsupportedError(
                "query, key and value must be 4D tensors", name, "[batch, heads, length, dim]",
                str(tuple(tensor.shape)), "add the missing axes with extent 1",
            )
    if query.size(-1) != key.size(-1):
        raise InvalidArgumentError(
            "Expect query and key/value to have the same embedding dimension", "key",
            f"E={query.size(-1)}", f"E={key.size(-1)}",
        )
    hq, hkv = query.size(1), key.size(1)
    if not enable_gqa and hq != hkv:
        raise InvalidArgumentError(
            "Expect query and key/value to have the same number of heads", "key", f"Hkv={hq}",
            f"Hq={hq} and Hkv={hkv}", "Try setting enable_gqa=True for GQA.",
        )
    if enable_gqa and (hkv == 0 or hq % hkv):
        raise InvalidArgumentError(
            "Expect number of query heads to be a multiple of kv heads for GQA", "key",
            f"a divisor of {hq}", f"Hq={hq} and Hkv={hkv}",
        )


def _check_batches(query: Any, key: Any) -> None:
    if key.size(0) in (query.size(0), 1):
        return
    raise InvalidArgumentError(
        "Expect query and key/value to have the same batch size", "key",
        f"Bkv={query.size(0)}, or 1 to share keys", f"Bq={query.size(0)}, and Bkv={key.size(0)}",
    )


def _check_block_mask(mask: Any, query: Any, key: Any) -> None:
    lengths = (query.size(-2), key.size(-2))
    declared = tuple(mask.shape[-2:])
    if declared != lengths:
        larger = declared[0] >= lengths[0] and declared[1] >= lengths[1]
        hint = (
            "create a new block mask, or crop it to its upper left corner with "
            "block_mask._adjust(q_len, kv_len), which does not mean the same for all mask_mods"
            if larger
            else "create a new block mask for the lengths you use"
        )
        raise InvalidArgumentError(
            f"block_mask was created for block_mask.shape={tuple(mask.shape)} but got "
            f"q_len={lengths[0]} and kv_len={lengths[1]}.",
            "block_mask", str(lengths), str(declared), hint,
        )
    for axis, name, extent in ((0, "batch", query.size(0)), (1, "heads", query.size(1))):
        got = mask.shape[axis] if len(mask.shape) == 4 else 1
        if got not in (1, extent):
            raise InvalidArgumentError(
                f"block_mask and query disagree on {name}", "block_mask", f"1 or {extent}", str(got),
                "a mask serves every batch or head (size 1), or each has its own",
            )
    device = mask.device if isinstance(mask, BlockMask) else mask.kv_num_blocks.device
    if device.type != query.device.type or (device.index or 0) != (query.device.index or 0):
        raise RuntimeError(
            "Expect q/k/v and block_mask to be on the same device "
            f"but got {query.device} and {device}."
        )


def _mask_and_lists(block_mask: Any, query: Any, key: Any) -> tuple[Any, Any, Any]:
    """mask_mod, list tensors and their sizes. Lists travel only where they decide."""
    if block_mask is None:
        return None, (), ()
    if type(block_mask) is BlockMask and block_mask.says_it_all(query, key):
        return block_mask._mask_mod, (), ()
    if block_mask.BLOCK_SIZE[0] == _NO_BLOCKS:
        return block_mask.mask_mod, (), ()
    if getattr(block_mask.mask_mod, "__name__", "") == "_sliced_mask_mod_error":
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    _check_block_mask(block_mask, query, key)
    mask_mod = block_mask.mask_mod
    if getattr(mask_mod, "__name__", "") == "noop_mask":
        mask_mod = None
    if isinstance(block_mask, BlockMask) and not block_mask.lists_decide:
        return mask_mod, (), ()
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    fields = {name: getattr(block_mask, name) for name in names}
    rank = fields["kv_indices"].dim()
    for name, tensor in fields.items():
        if tensor is not None and rank < 4:
            fields[name] = tensor[(None,) * (4 - rank)]
    return mask_mod, *lists_of(
        {**fields, "block_size": block_mask.BLOCK_SIZE}, query.size(-2), key.size(-2)
    )


def _both(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first

    def both(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return first(b, h, q_idx, kv_idx) & second(b, h, q_idx, kv_idx)

    return both


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Any = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
    mask_mod: Any = None,
    cu_seqlens: Any = None,
    deterministic: bool | None = None,
    require_fast: bool = False,
) -> Any:
    """softmax over live pairs of score_mod(scale * <query, key>), times value.

    PyTorch's arguments, and: `mask_mod`, which must hold beside the block_mask; `cu_seqlens`, the
    bounds of sequences packed into the length axis (or a pair, for query and key), after which b is
    the sequence and q_idx, kv_idx count inside it; `deterministic`, gradients with the same bits on
    every run (None: as torch.use_deterministic_algorithms says; always met on the CPU);
    `require_fast`, which refuses what only a slower kernel serves.
    """
    compiling = torch.compiler.is_dynamo_compiling()
    if compiling or not _core.operands_fit(query, key, value, enable_gqa):
        _check_shapes(query, key, value, enable_gqa)
        _check_batches(query, key)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if kernel_options:
        _check_kernel_options(kernel_options)
    if score_mod is not None and not compiling and positional_count(score_mod) == 4:
        raise InvalidArgumentError(
            "a mask_mod is given as score_mod", "score_mod", "score, b, h, q_idx, kv_idx",
            "4 positional arguments", "pass mask_mod= or a block_mask",
        )
    of_mask, lists, sizes = _mask_and_lists(block_mask, query, key)
    mask = _both(of_mask, mask_mod)
    if cu_seqlens is not None:
        score_mod, mask = packed_mods(score_mod, mask, cu_seqlens, query, key)
    wants_lse, wants_max = (return_lse, False) if return_aux is None else return_aux
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    out, lse, max_scores = (_record if compiling else _run)(
        query, key, value, score_mod, mask, scale=scale, lists=lists, list_sizes=sizes,
        lse=wants_lse, max_scores=wants_max, require_fast=require_fast, deterministic=deterministic,
    )  # fmt: skip
    if return_aux is not None:
        return out, AuxOutput(lse if wants_lse else None, max_scores if wants_max else None)
    if return_lse:
        _warn_return_lse()
        return out, lse
    return out


def _warn_return_lse() -> None:
    if torch.compiler.is_compiling() or "return_lse" in _warned:
        return
    _warned.add("return_lse")
    warnings.warn(
        "return_lse is deprecated, use return_aux=AuxRequest(lse=True)", FutureWarning, stacklevel=3
    )


def _record(
    query: Any, key: Any, value: Any, score_mod: Any, mask_mod: Any, **options: Any
) -> tuple[Any, Any, Any]:
    from ._graph import call_in_graph

    return call_in_graph((query, key, value), score_mod, mask_mod, **options)


def _run(
    query: Any, key: Any, value: Any, score_mod: Any, mask_mod: Any, *, scale: Any = None,
    lists: Any = (), list_sizes: Any = (), lse: bool = False, max_scores: bool = False,
    require_fast: bool = False, deterministic: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    refuse_functorch()
    if autocast_is_on():
        query, key, value = autocast(query, key, value)
    program = program_of(score_mod, mask_mod, query)
    return call(
        program, query, key, value, scale=scale, lists=lists, list_sizes=list_sizes, lse=lse,
        max_scores=max_scores, require_fast=require_fast, deterministic=deterministic,
    )  # fmt: skip


def attend(
    query: Any, key: Any, value: Any, score_mod: Any, mask_mod: Any, **options: Any
) -> tuple[Any, Any, Any]:
    """out, lse, max_scores of operands that fit: recorded where Dynamo traces, else run."""
    run = _record if torch.compiler.is_dynamo_compiling() else _run
    return run(query, key, value, score_mod, mask_mod, **options)
