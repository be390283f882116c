"""The dispatcher's view of attention: ops tilewright::forward and tilewright::backward.

A program travels as text, tensors and numbers travel beside it. So a graph that holds the op holds
nothing stale: a changed number or table is another input, not another graph.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _engine
from .._error import UnsupportedError
from ._run import (
    block_lists,
    empty_output,
    empty_statistic,
    run_backward,
    run_forward,
    statistic_dtype,
)
from ._templates import template_of

_library = torch.library.Library("tilewright", "DEF")
_OPERANDS = (
    "Tensor[] captures, SymInt[] integers, float[] reals, Tensor[] real_tensors, Tensor[] lists, "
    "SymInt[] list_sizes, str program, float? scale"
)
_library.define(
    f"forward(Tensor query, Tensor key, Tensor value, {_OPERANDS}, bool lse, bool max_scores, "
    "bool require_fast, bool deterministic) -> (Tensor, Tensor, Tensor)"
)
_library.define(
    "backward(Tensor query, Tensor key, Tensor value, Tensor out, Tensor lse, Tensor d_out, "
    f"Tensor? d_lse, {_OPERANDS}, bool[] wanted, bool require_fast, bool deterministic) -> Tensor[]"
)


def _statistic(query: torch.Tensor, wanted: bool) -> torch.Tensor:
    """An op returns tensors: what was not asked for is an empty one."""
    if wanted:
        return empty_statistic(query)
    return query.new_empty((0,), dtype=statistic_dtype(query))


def _empty_outputs(query: Any, value: Any, lse: bool, max_scores: bool) -> tuple[Any, Any, Any]:
    out = empty_output(query, value.shape[3])
    return out, _statistic(query, lse), _statistic(query, max_scores)


def _numbers_from(reals: Any, real_tensors: Any) -> list[float]:
    return [float(t) for t in real_tensors] if real_tensors else list(reals)


def _forward(
    query, key, value, captures, integers, reals, real_tensors, lists, list_sizes, program, scale,
    lse, max_scores, require_fast, deterministic,
):  # fmt: skip
    bound = template_of(program).bound(captures, integers, _numbers_from(reals, real_tensors))
    made_lists = block_lists(lists, list_sizes)
    engine = _engine.engine(require_fast)
    made = run_forward(bound, (query, key, value), scale, made_lists, (lse, max_scores), engine)
    out, *statistics = made
    lse, max_scores = (_statistic(query, False) if t is None else t for t in statistics)
    return out, lse, max_scores


def _forward_fake(
    query, key, value, captures, integers, reals, real_tensors, lists, list_sizes, program, scale,
    lse, max_scores, require_fast, deterministic,
):  # fmt: skip
    return _empty_outputs(query, value, lse, max_scores)


def _empty_gradients(query, key, value, captures, wanted) -> list[Any]:
    tensors = (query, key, value, *captures)
    return [torch.empty_like(t) for t, flag in zip(tensors, wanted) if flag]


def _backward(
    query, key, value, out, lse, d_out, d_lse, captures, integers, reals, real_tensors, lists,
    list_sizes, program, scale, wanted, require_fast, deterministic,
):  # fmt: skip
    template = template_of(program)
    bound = template.bound(captures, integers, _numbers_from(reals, real_tensors))
    gradients = _empty_gradients(query, key, value, captures, wanted)
    written = iter(gradients)
    targets = [next(written) if flag else None for flag in wanted]
    slots = bound.capture_slots
    by_slot = {}
    for slot, operand in enumerate(template.captures):
        if targets[3 + operand] is not None:
            by_slot[slots[slot]] = targets[3 + operand]
    for operand, target in enumerate(targets[3:]):
        if target is not None and operand not in template.captures:
            target.zero_()
    inputs = (query, key, value, out, lse, d_out, d_lse)
    made_lists = block_lists(lists, list_sizes)
    engine = _engine.engine(require_fast)
    options = (scale, made_lists, deterministic)
    run_backward(bound, inputs, (*targets[:3], by_slot), options, engine)
    return gradients


def _backward_fake(
    query, key, value, out, lse, d_out, d_lse, captures, integers, reals, real_tensors, lists,
    list_sizes, program, scale, wanted, require_fast, deterministic,
):  # fmt: skip
    return _empty_gradients(query, key, value, captures, wanted)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    query, key, value, captures, integers, reals, real_tensors, lists, list_sizes = inputs[:9]
    ctx.program, ctx.scale, _, _, ctx.require_fast, ctx.deterministic = inputs[9:]
    ctx.integers, ctx.reals, ctx.list_sizes = integers, reals, list_sizes
    ctx.counts = (len(captures), len(real_tensors), len(lists))
    out, lse, max_scores = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(max_scores)
    ctx.save_for_backward(query, key, value, out, lse, *captures, *real_tensors, *lists)


def _differentiate(ctx: Any, d_out: Any, d_lse: Any, d_max_scores: Any) -> Any:
    query, key, value, out, lse, *rest = ctx.saved_tensors
    n_captures, n_reals, n_lists = ctx.counts
    captures = rest[:n_captures]
    real_tensors = rest[n_captures : n_captures + n_reals]
    lists = rest[n_captures + n_reals :]
    flags = ctx.needs_input_grad
    capture_flags = flags[3] if isinstance(flags[3], (list, tuple)) else [flags[3]] * n_captures
    wanted = [bool(f) for f in (*flags[:3], *capture_flags)]
    for i, captured in enumerate(captures):
        wanted[3 + i] = wanted[3 + i] and captured.is_floating_point()
    if d_out is None:
        d_out = torch.zeros_like(out)
    gradients = torch.ops.tilewright.backward(
        query, key, value, out, lse, d_out, d_lse, captures, ctx.integers, ctx.reals, real_tensors,
        lists, ctx.list_sizes, ctx.program, ctx.scale, wanted, ctx.require_fast, ctx.deterministic,
    )  # fmt: skip

    def nothing(values: Any) -> Any:
        # An empty list counts as a list of tensors, a list of numbers as one value.
        return None if values else []

    filled = iter(gradients)
    all_gradients = [next(filled) if flag else None for flag in wanted]
    return (
        *all_gradients[:3], all_gradients[3:], nothing(ctx.integers), nothing(ctx.reals),
        [None] * n_reals, [None] * n_lists, nothing(ctx.list_sizes), None, None, None, None, None, None,
    )  # fmt: skip


def _refuse_double(ctx: Any, *grads: Any) -> Any:
    raise UnsupportedError(
        "attention is differentiated twice", "backward of backward", "first derivatives",
        "create_graph=True, or a gradient of a gradient", "",
    )


def _refuse_batched(*args: Any, **kwargs: Any) -> Any:
    refuse_transform("vmap")


def refuse_transform(name: str) -> None:
    raise UnsupportedError(
        "torch.func transforms do not reach into attention", name,
        "plain tensors; batch and heads are axes of query, key and value already",
        f"a tensor inside torch.func.{name}", "",
    )


for _device in ("CPU", "CUDA"):
    _library.impl("forward", _forward, _device)
    _library.impl("backward", _backward, _device)
for _name in ("forward", "backward"):
    _library.impl(_name, _refuse_batched, "FuncTorchBatched")
torch.library.register_fake("tilewright::forward", _forward_fake, lib=_library)
torch.library.register_fake("tilewright::backward", _backward_fake, lib=_library)
torch.library.register_autograd(
    "tilewright::forward", _differentiate, setup_context=_setup_context, lib=_library
)
torch.library.register_autograd(
    "tilewright::backward", _refuse_double, setup_context=lambda ctx, inputs, output: None,
    lib=_library,
)  # fmt: skip


def _register_flops() -> None:
    try:
        from torch.utils.flop_counter import register_flop_formula
    except ImportError:
        return

    def forward_flops(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs) -> int:
        batch, heads, q_len, dim = query_shape
        return 2 * batch * heads * q_len * key_shape[2] * (dim + value_shape[3])

    def backward_flops(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs) -> int:
        batch, heads, q_len, dim = query_shape
        return 2 * batch * heads * q_len * key_shape[2] * (3 * dim + 2 * value_shape[3])

    register_flop_formula(torch.ops.tilewright.forward)(forward_flops)
    register_flop_formula(torch.ops.tilewright.backward)(backward_flops)


_register_flops()
