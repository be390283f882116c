"""The dispatcher's view of attention: ops tilewright::forward and tilewright::backward.

A program travels as text, tensors and numbers travel beside it. So a graph that holds the op holds
nothing stale: a changed number or table is another input, not another graph.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from .. import _core, _engine
from .._error import UnsupportedError
from .._tensors import torch_view
from .._trace import Traced

# First line of texts whose captures and numbers are called c0, i0, r0, ... in the order of the op's
# lists; in other texts the lists are in the order of the program's own slots.
BY_NAME = "# operands by name"

_library = torch.library.Library("tilewright", "DEF")
_OPERANDS = (
    "Tensor[] captures, SymInt[] integers, float[] reals, Tensor[] real_tensors, Tensor[] lists, "
    "SymInt[] list_sizes, str program, float? scale"
)
_library.define(
    f"forward(Tensor query, Tensor key, Tensor value, {_OPERANDS}, bool lse, bool max_scores, "
    "bool require_fast) -> (Tensor, Tensor, Tensor)"
)
_library.define(
    "backward(Tensor query, Tensor key, Tensor value, Tensor out, Tensor lse, Tensor d_out, "
    f"Tensor? d_lse, {_OPERANDS}, bool[] wanted, bool require_fast) -> Tensor[]"
)


class _Template:
    """A parsed program and which operand goes to which of its slots."""

    def __init__(self, program: _core.Program, by_name: bool):
        self.program = program
        names = program.capture_slots
        self.captures = [int(name[1:]) for name in names] if by_name else list(range(len(names)))
        values = program.number_values
        self.is_real = [isinstance(value, float) for value in values]
        if by_name:
            self.numbers = [int(name[1:]) for name in program.number_names]
        else:
            self.numbers = []
            counts = {True: 0, False: 0}
            for real in self.is_real:
                self.numbers.append(counts[real])
                counts[real] += 1

    def bound(self, captures: list[Any], integers: list[int], reals: list[float]) -> Any:
        views = [torch_view(captures[i], "capture") for i in self.captures]
        numbers = [(reals if real else integers)[i] for real, i in zip(self.is_real, self.numbers)]
        return self.program.rebound(views, numbers)


_templates: dict[str, _Template] = {}
_texts: dict[tuple[Any, ...], str] = {}
_lock = threading.Lock()
_MOST_TEMPLATES = 4096


def _template(text: str) -> _Template:
    found = _templates.get(text)
    if found is None:
        found = _Template(_core.Program.parse(text), text.startswith(BY_NAME))
        with _lock:
            if len(_templates) >= _MOST_TEMPLATES:
                _templates.clear()
            _templates[text] = found
    return found


def text_of(traced: Traced) -> str:
    """The text that stands for this structure; equal structures with equal names share it."""
    key = (traced.program.structure_digest, *traced.program.capture_slots)
    text = _texts.get(key)
    if text is None:
        text = traced.program.template_text()
        with _lock:
            if len(_texts) >= _MOST_TEMPLATES:
                _texts.clear()
            _texts[key] = text
    return text


def empty_output(query: torch.Tensor, value_dim: int) -> torch.Tensor:
    """[B, Hq, Q, Ev] with the order of query's strides, the last axis contiguous."""
    batch, heads, q_len, _ = query.shape
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


def empty_outputs(query: Any, value: Any, lse: bool, max_scores: bool) -> tuple[Any, Any, Any]:
    dtype = statistic_dtype(query)
    shape = query.shape[:3]
    return (
        empty_output(query, value.shape[3]),
        query.new_empty(shape if lse else (0,), dtype=dtype),
        query.new_empty(shape if max_scores else (0,), dtype=dtype),
    )


def block_lists(lists: Any, sizes: Any) -> Any:
    """Two or four list tensors and (q_len, kv_len, q_block, kv_block); None where there are none."""
    if not lists:
        return None
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    views = [torch_view(tensor, name) for tensor, name in zip(lists, names)]
    views += [None] * (4 - len(views))
    made = _core.BlockLists(tuple(map(int, sizes[:2])), tuple(map(int, sizes[2:])), tuple(views))
    made.kept = views
    return made


def run_forward(
    program: Any, query: Any, key: Any, value: Any, scale: Any, lists: Any, wanted: Any, engine: Any
) -> tuple[Any, Any, Any]:
    """Writes fresh outputs; `wanted` says whether lse and max_scores are among them."""
    outputs = empty_outputs(query, value, *wanted)
    views = (torch_view(query, "query"), torch_view(key, "key"), torch_view(value, "value"))
    out_views = (
        torch_view(outputs[0], "out"),
        torch_view(outputs[1], "lse") if wanted[0] else None,
        torch_view(outputs[2], "max_scores") if wanted[1] else None,
    )
    engine.attention(program, views, out_views, (scale, lists))
    return outputs


def _numbers_from(reals: Any, real_tensors: Any) -> list[float]:
    return [float(t) for t in real_tensors] if real_tensors else list(reals)


def _forward(
    query, key, value, captures, integers, reals, real_tensors, lists, list_sizes, program, scale,
    lse, max_scores, require_fast,
):  # fmt: skip
    bound = _template(program).bound(captures, integers, _numbers_from(reals, real_tensors))
    made_lists = block_lists(lists, list_sizes)
    engine = _engine.engine(require_fast)
    return run_forward(bound, query, key, value, scale, made_lists, (lse, max_scores), engine)


def _forward_fake(
    query, key, value, captures, integers, reals, real_tensors, lists, list_sizes, program, scale,
    lse, max_scores, require_fast,
):  # fmt: skip
    return empty_outputs(query, value, lse, max_scores)


def _empty_gradients(query, key, value, captures, wanted) -> list[Any]:
    tensors = (query, key, value, *captures)
    return [torch.empty_like(t) for t, flag in zip(tensors, wanted) if flag]


def _backward(
    query, key, value, out, lse, d_out, d_lse, captures, integers, reals, real_tensors, lists,
    list_sizes, program, scale, wanted, require_fast,
):  # fmt: skip
    template = _template(program)
    bound = template.bound(captures, integers, _numbers_from(reals, real_tensors))
    gradients = _empty_gradients(query, key, value, captures, wanted)
    written = iter(gradients)
    views = [torch_view(next(written), "gradient") if flag else None for flag in wanted]
    slots = bound.capture_slots
    by_slot = {}
    for slot, operand in enumerate(template.captures):
        if views[3 + operand] is not None:
            by_slot[slots[slot]] = views[3 + operand]
    named = ("query", "key", "value", "out", "lse", "d_out")
    inputs = [torch_view(t, n) for t, n in zip((query, key, value, out, lse, d_out), named)]
    inputs.append(None if d_lse is None else torch_view(d_lse, "d_lse"))
    for operand, flag in enumerate(wanted[3:]):
        if flag and operand not in template.captures:
            gradients[sum(wanted[: 3 + operand])].zero_()
    made_lists = block_lists(lists, list_sizes)
    engine = _engine.engine(require_fast)
    engine.attention_backward(bound, tuple(inputs), (*views[:3], by_slot), (scale, made_lists))
    return gradients


def _backward_fake(
    query, key, value, out, lse, d_out, d_lse, captures, integers, reals, real_tensors, lists,
    list_sizes, program, scale, wanted, require_fast,
):  # fmt: skip
    return _empty_gradients(query, key, value, captures, wanted)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    query, key, value, captures, integers, reals, real_tensors, lists, list_sizes = inputs[:9]
    ctx.program, ctx.scale, _, _, ctx.require_fast = inputs[9:]
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
        lists, ctx.list_sizes, ctx.program, ctx.scale, wanted, ctx.require_fast,
    )  # fmt: skip

    def nothing(values: Any) -> Any:
        # An empty list counts as a list of tensors, a list of numbers as one value.
        return None if values else []

    filled = iter(gradients)
    all_gradients = [next(filled) if flag else None for flag in wanted]
    return (
        *all_gradients[:3], all_gradients[3:], nothing(ctx.integers), nothing(ctx.reals),
        [None] * n_reals, [None] * n_lists, nothing(ctx.list_sizes), None, None, None, None, None,
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
