"""One attention call on torch tensors: trace, then the kernel at once or through the dispatcher."""

from __future__ import annotations

from typing import Any

import torch

from torch.autograd import forward_ad as _forward_mode

from .. import _core, _engine
from .._attention import Result, traced_from
from .._catalogue import reading as _reading
from .._error import InvalidArgumentError, UnsupportedError
from . import _ops
from ._autograd import Call, apply_attention
from ._run import block_lists, run_forward
from ._templates import text_of

_reading[0] = torch.compiler.is_dynamo_compiling
_grad_enabled = torch.is_grad_enabled
_function_mode = torch._C._is_torch_function_mode_enabled
_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
_functorch = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)


def refuse_functorch() -> None:
    interpreter = _functorch() if _functorch is not None else None
    if interpreter is not None:
        _ops.refuse_transform(str(interpreter.key()).rpartition(".")[2].lower())


# Whether autocast is on for any device: asked first, since naming a device costs ten times as much.
autocast_is_on = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


def autocast(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """Operands as torch.autocast wants matrix products: in its dtype, unless they are fp64."""
    device = query.device.type
    if not torch.is_autocast_enabled(device):
        return query, key, value
    dtype = torch.get_autocast_dtype(device)
    return tuple(
        t.to(dtype) if t.is_floating_point() and t.dtype != torch.float64 else t
        for t in (query, key, value)
    )


def _look_plain(tensors: tuple[Any, ...]) -> bool:
    return all(type(t) in (torch.Tensor, torch.nn.Parameter) for t in tensors)


_compiled = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
_are_plain = _core.are_plain_tensors if _compiled else _look_plain


def watched() -> bool:
    """Whether a dispatch or function mode looks at operations."""
    return (
        _dispatch_modes is None
        or _dispatch_modes() != 0
        or _function_mode()
    )


def _refuse_tangents(tensors: Any) -> None:
    if any(_forward_mode.unpack_dual(t).tangent is not None for t in tensors):
        raise UnsupportedError(
            "attention has no forward-mode derivative", "torch.autograd.forward_ad",
            "reverse mode: backward() or torch.autograd.grad", "a dual tensor",
        )


def numbers_of(program: Any) -> tuple[list[int], list[float]]:
    values = program.number_values
    return [v for v in values if isinstance(v, int)], [v for v in values if isinstance(v, float)]


def _as_tensors(captures: list[Any]) -> list[Any]:
    """Captures as tensors; numpy arrays and DLPack objects share their memory."""
    return [t if isinstance(t, torch.Tensor) else torch.as_tensor(t) for t in captures]


def call(
    program: Any, query: Any, key: Any, value: Any, *, scale: Any = None, lists: Any = (),
    list_sizes: Any = (), lse: bool = False, max_scores: bool = False, require_fast: bool = False,
    engine: Any = None, deterministic: bool = False, stream: int | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """out, lse, max_scores; what was not asked for is None, empty, or more than was asked."""
    captures = program.owners
    operands = (query, key, value)
    grad = _grad_enabled()
    if captures:
        captures = _as_tensors([getattr(t, "owner", t) for t in captures])
        grad = grad and any(t.requires_grad for t in (*operands, *captures))
    elif grad:
        grad = query.requires_grad or key.requires_grad or value.requires_grad
    if _forward_mode._current_level >= 0:
        _refuse_tangents((*operands, *captures))
    if engine is None and (watched() or not _are_plain((*operands, *captures))):
        integers, reals = numbers_of(program)
        return torch.ops.tilewright.forward(
            query, key, value, captures, integers, reals, [], list(lists), list(list_sizes),
            text_of(program), scale, lse or _grad_enabled(), max_scores, require_fast, deterministic,
        )  # fmt: skip
    engine = engine or _engine.engine(require_fast)
    made = block_lists(lists, list_sizes) if lists else None
    if not grad:
        return run_forward(program, operands, scale, made, (lse, max_scores), engine, stream)
    settings = Call()
    settings.program, settings.captures, settings.engine = program, captures, engine
    settings.lists, settings.list_sizes, settings.made_lists = lists, list_sizes, made
    settings.scale, settings.max_scores, settings.stream = scale, max_scores, stream
    settings.deterministic = deterministic
    return apply_attention(settings, query, key, value, *captures)


def lists_of(block_lists: Any, q_len: int, kv_len: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """List tensors and their sizes from the mapping that tilewright.attention takes."""
    if block_lists is None:
        return (), ()
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    lists = tuple(block_lists[name] for name in names if block_lists.get(name) is not None)
    size = block_lists.get("block_size", 128)
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    return lists, (*block_lists.get("lengths", (q_len, kv_len)), *sizes)


def require_operands(query: Any, key: Any, value: Any) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgumentError(
                "query is a torch tensor, this is not", name, "a torch tensor", type(tensor).__name__
            )
        if tensor.dim() != 4:
            raise InvalidArgumentError(
                "an attention operand must have four axes", name, "[batch, heads, length, dim]",
                str(list(tensor.shape)), "add the missing axes with extent 1",
            )


def attention(
    query: Any, key: Any, value: Any, *, score_mod: Any, mask_mod: Any, program: Any, scale: Any,
    block_lists: Any, return_lse: bool, return_max_scores: bool, require_fast: bool, engine: Any,
    stream: int | None,
) -> Any:  # fmt: skip
    """tilewright.attention for torch tensors."""
    refuse_functorch()
    require_operands(query, key, value)
    query, key, value = autocast(query, key, value)
    program = traced_from(
        score_mod, mask_mod, program, device=query.device, dtype=query.dtype
    ).program
    lists, sizes = lists_of(block_lists, query.shape[2], key.shape[2])
    out, lse, max_scores = call(
        program, query, key, value, scale=scale, lists=lists, list_sizes=sizes, lse=return_lse,
        max_scores=return_max_scores, require_fast=require_fast, engine=engine, stream=stream,
        deterministic=torch.are_deterministic_algorithms_enabled(),
    )  # fmt: skip
    if not (return_lse or return_max_scores):
        return out
    return Result(out, lse if return_lse else None, max_scores if return_max_scores else None)
