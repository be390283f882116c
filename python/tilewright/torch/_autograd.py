"""Gradients of a call that nobody watches: an autograd.Function straight over the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ._run import run_backward, run_forward


class Call:
    """What a call is beside its tensors. The program is bound to `captures`."""

    __slots__ = (
        "captures", "deterministic", "engine", "list_sizes", "lists", "made_lists", "max_scores",
        "program", "scale", "stream",
    )  # fmt: skip
    program: Any
    captures: Sequence[Any]
    engine: Any
    lists: Sequence[torch.Tensor]
    list_sizes: Sequence[int]
    made_lists: Any
    scale: float | None
    max_scores: bool
    stream: int | None
    deterministic: bool


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: Call, query: Any, key: Any, value: Any, *captures: Any) -> Any:
        operands = (query, key, value)
        out, lse, max_scores = run_forward(
            call.program, operands, call.scale, call.made_lists, (True, call.max_scores),
            call.engine, call.stream,
        )  # fmt: skip
        ctx.materialize_grads = False
        if max_scores is not None:
            ctx.mark_non_differentiable(max_scores)
        ctx.save_for_backward(query, key, value, out, lse, *captures)
        ctx.call = call
        return out, lse, max_scores

    @staticmethod
    def backward(ctx: Any, d_out: Any, d_lse: Any, d_max_scores: Any) -> Any:
        call = ctx.call
        query, key, value, out, lse, *captures = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[1:])
        for place, tensor in enumerate(captures, 3):
            wanted[place] = wanted[place] and tensor.is_floating_point()
        if d_out is None:
            d_out = torch.zeros_like(out)
        inputs = (query, key, value, out, lse, d_out, d_lse)
        if torch.is_grad_enabled():
            return _differentiable(call, inputs, captures, wanted)
        tensors = (query, key, value, *captures)
        gradients = [torch.empty_like(t) if flag else None for t, flag in zip(tensors, wanted)]
        program = call.program
        by_slot = {}
        if captures:
            if any(a is not b for a, b in zip(captures, call.captures)):
                program = program.rebound(captures, program.number_values)
            by_slot = {
                name: gradient
                for name, gradient in zip(program.capture_slots, gradients[3:])
                if gradient is not None
            }
        options = (call.scale, call.made_lists, call.deterministic)
        run_backward(program, inputs, (*gradients[:3], by_slot), options, call.engine)
        return None, *gradients


# Function.apply without its look for functorch, which the call has had already.
apply_attention = super(torch.autograd.Function, Attention).apply


def _differentiable(call: Call, inputs: Any, captures: Any, wanted: Any) -> Any:
    """The gradients as an op of the dispatcher, which says what happens when it is differentiated."""
    from ._call import numbers_of
    from ._templates import text_of

    integers, reals = numbers_of(call.program)
    made = iter(
        torch.ops.tilewright.backward(
            *inputs, captures, integers, reals, [], list(call.lists), list(call.list_sizes),
            text_of(call.program), call.scale, wanted, call.engine.require_fast, call.deterministic,
        )  # fmt: skip
    )
    return None, *(next(made) if flag else None for flag in wanted)
