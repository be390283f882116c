"""Attention on arrays of any library; torch tensors take the way of tilewright.torch."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core, _engine
from ._error import InvalidArgumentError
from ._tensors import empty_beside, is_torch, like, stream_number, view_of
from ._trace import Traced, on_host, trace


class Result(NamedTuple):
    """What a call returns when more than `out` was asked for; what was not is None."""

    out: Any
    lse: Any = None
    max_scores: Any = None


def traced_from(score_mod: Any, mask_mod: Any, program: Any, **answers: Any) -> Traced:
    if program is None:
        return trace(score_mod, mask_mod, **answers)
    if score_mod is not None or mask_mod is not None:
        raise InvalidArgumentError(
            "a program and mods are given together", "program", "one or the other", "both"
        )
    return Traced(program)


def lists_from(block_lists: Any, q_len: int, kv_len: int) -> Any:
    """Block lists from a mapping or a BlockLists; None stays None."""
    if block_lists is None or isinstance(block_lists, _core.BlockLists):
        return block_lists
    fields = dict(block_lists)
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    views = tuple(
        None if fields.get(name) is None else view_of(fields[name], name) for name in names
    )
    size = fields.get("block_size", 128)
    blocks = (size, size) if isinstance(size, int) else tuple(size)
    lists = _core.BlockLists(fields.get("lengths", (q_len, kv_len)), blocks, views)
    lists.kept = views
    return lists


def _output_views(model: Any, inputs: Any, lse: bool, max_scores: bool) -> Any:
    """Fresh arrays on the operands' device, and their views."""
    query, _, value = inputs
    batch, heads, q_len, _ = query.shape
    statistic = "f64" if query.dtype == "f64" else "f32"
    arrays = [empty_beside(model, query, (batch, heads, q_len, value.shape[3]), query.dtype)]
    for wanted in (lse, max_scores):
        made = empty_beside(model, query, (batch, heads, q_len), statistic) if wanted else None
        arrays.append(made)
    return arrays, tuple(None if a is None else view_of(a, "out") for a in arrays)


def _input_views(query: Any, key: Any, value: Any, stream: int | None = None) -> Any:
    named = {"query": query, "key": key, "value": value}
    views = tuple(view_of(operand, name, stream) for name, operand in named.items())
    for name, view in zip(named, views):
        if len(view.shape) != 4:
            raise InvalidArgumentError(
                "an attention operand must have four axes", name, "[batch, heads, length, dim]",
                str(list(view.shape)), "add the missing axes with extent 1",
            )
    return views


def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    score_mod: Any = None,
    mask_mod: Any = None,
    program: Any = None,
    scale: float | None = None,
    block_lists: Any = None,
    return_lse: bool = False,
    return_max_scores: bool = False,
    require_fast: bool = False,
    engine: _core.Engine | None = None,
    stream: Any = None,
) -> Any:
    """softmax over live pairs of score_mod(scale * <query, key>), times value.

    query [B, Hq, Q, E], key [B or 1, Hkv, KV, E], value [B or 1, Hkv, KV, Ev]: numpy arrays, torch
    tensors, or anything with `__dlpack__`, any strides, one dtype (f64, f32, f16, bf16). Hq is a
    multiple of Hkv. Returns out [B, Hq, Q, Ev] of the kind that came in, or a Result where lse or
    max_scores [B, Hq, Q] are asked for. `block_lists` is a mapping with kv_num_blocks, kv_indices,
    full_kv_num_blocks, full_kv_indices and block_size. On a GPU the call is enqueued on `stream` (a
    number, or a stream of torch, cupy or cuda.core; None: torch's current one for torch tensors, the
    default one for others) and returns without waiting.
    """
    if is_torch(query):
        from .torch._call import attention as torch_attention

        return torch_attention(
            query, key, value, score_mod=score_mod, mask_mod=mask_mod, program=program, scale=scale,
            block_lists=block_lists, return_lse=return_lse, return_max_scores=return_max_scores,
            require_fast=require_fast, engine=engine, stream=stream_number(stream),
        )  # fmt: skip
    number = stream_number(stream)
    inputs = _input_views(query, key, value, number)
    traced = traced_from(score_mod, mask_mod, program)
    arrays, outputs = _output_views(query, inputs, return_lse, return_max_scores)
    lists = lists_from(block_lists, inputs[0].shape[2], inputs[1].shape[2])
    engine = engine or _engine.engine(require_fast)
    engine.attention(traced.program, inputs, outputs, (scale, lists, number, False))
    out = like(arrays[0], query)
    if not (return_lse or return_max_scores):
        return out
    return Result(out, *(None if a is None else like(a, query) for a in arrays[1:]))


class Prepared:
    """Compiled attention for tensors of one dtype and head dim: lengths, batch, strides, captured
    tensors and numbers may change from call to call without compiling."""

    def __init__(self, attention: _core.Attention, model: Any, wanted: tuple[bool, bool]):
        self._attention = attention
        self._model = model
        self._wanted = wanted

    def __call__(self, query: Any, key: Any, value: Any, *, stream: Any = None) -> Any:
        number = stream_number(stream)
        inputs = _input_views(query, key, value, number)
        arrays, outputs = _output_views(query, inputs, *self._wanted)
        self._attention.forward((query if is_torch(query) else inputs[0], *inputs[1:]), outputs, number)
        arrays = [None if a is None else like(a, query) for a in arrays]
        return Result(*arrays) if any(self._wanted) else arrays[0]

    def bind(self, capture: str, tensor: Any) -> None:
        """Rebinds a captured tensor by its name in the mod's source; same dtype and rank."""
        self._attention.bind(capture, view_of(tensor, capture))

    def set(self, number: str, value: float) -> None:
        """Rebinds a `tilewright.Number` by its name."""
        self._attention.set(number, value)

    def ready(self) -> bool:
        return self._attention.ready()

    def wait(self) -> None:
        self._attention.wait()

    def explain(self, stage: str = "all") -> str:
        return self._attention.explain(stage)


def prepare(
    query: Any,
    key: Any,
    value: Any,
    *,
    score_mod: Any = None,
    mask_mod: Any = None,
    program: Any = None,
    scale: float | None = None,
    block_lists: Any = None,
    return_lse: bool = False,
    return_max_scores: bool = False,
    background: bool = False,
    engine: _core.Engine | None = None,
) -> Prepared:
    """Compiles all that calls like this one may need and returns a callable on new tensors.

    The tensors only state dtypes, dims and lengths. `background` returns at once; `wait()` waits.
    """
    inputs = _input_views(query, key, value)
    traced = traced_from(score_mod, mask_mod, program)
    _, outputs = _output_views(query, inputs, return_lse, return_max_scores)
    lists = lists_from(block_lists, inputs[0].shape[2], inputs[1].shape[2])
    engine = engine or _engine.engine()
    attention = engine.prepare(traced.program, inputs, outputs, (scale, lists, background))
    return Prepared(attention, query, (return_lse, return_max_scores))


def explain(
    query: Any,
    key: Any,
    value: Any,
    *,
    score_mod: Any = None,
    mask_mod: Any = None,
    program: Any = None,
    scale: float | None = None,
    at: tuple[int, int, int, int] | None = None,
    stage: str = "all",
) -> str:
    """What a call would do, as text: its program, facts, plan and source, or one of them.

    With `at=(b, h, q, kv)` instead every node's value for that one score, in fp64: what print and
    breakpoints inside a mod would show.
    """
    traced = traced_from(score_mod, mask_mod, program)
    if at is not None and is_torch(query):
        query, key, value = (t.detach().cpu() for t in (query, key, value))
    inputs = _input_views(query, key, value)
    if at is None:
        _, outputs = _output_views(query, inputs, False, False)
        prepared = _engine.engine().prepare(traced.program, inputs, outputs, (scale, None, False))
        return prepared.explain(stage)
    score = _core.score_between(inputs[0], inputs[1], tuple(at))
    if scale is not None:
        score *= scale * inputs[0].shape[3] ** 0.5
    return on_host(traced.program).values_at(score, tuple(at))
