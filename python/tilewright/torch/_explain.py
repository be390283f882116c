"""What a flex_attention call would do, as text."""

from __future__ import annotations

from typing import Any

from .. import _attention
from .._trace import program_of
from ._flex import _both, _check_kernel_options, _check_shapes, _mask_and_lists

# What PyTorch's options tune, and what stands in their place here.
_NOTES = {
    "BACKEND": "the planner chooses the kernel from the shapes and the device",
    "FORCE_USE_FLEX_ATTENTION": "the planner chooses the kernel from the shapes and the device",
    "ROWS_GUARANTEED_SAFE": "rows without a live key cost nothing and are always right",
    "BLOCKS_ARE_CONTIGUOUS": "kernels walk spans, not lists of blocks",
    "PRESCALE_QK": "the scale is folded into the exponent",
    "WRITE_DQ": "backward writes what autograd asks for",
}
_TUNED = "tiles, stages and warps are the planner's choice"


def explain(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    kernel_options: Any = None,
    *,
    mask_mod: Any = None,
    at: tuple[int, int, int, int] | None = None,
    stage: str = "all",
) -> str:
    """The call's program, facts, plan and source, or one `stage` of them; with `at=(b, h, q, kv)` every
    node's value for that score. Options in `kernel_options` that have no effect here are listed with
    what decides instead."""
    _check_shapes(query, key, value, enable_gqa)
    _check_kernel_options(kernel_options)
    of_mask, lists, _ = _mask_and_lists(block_mask, query, key)
    program = program_of(score_mod, _both(of_mask, mask_mod), query)
    text = _attention.explain(query, key, value, program=program, scale=scale, at=at, stage=stage)
    notes = [
        f"kernel_options: {name}={setting} has no effect: {_NOTES.get(name, _TUNED)}"
        for name, setting in (kernel_options or {}).items()
    ]
    if lists:
        notes.append("block lists: tiles that they do not list are dead, whatever the program says")
    return "\n".join([text.rstrip(), *notes]) + "\n"
