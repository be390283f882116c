"""Attention over parts of the keys, merged into attention over all of them."""

from __future__ import annotations

from functools import reduce
from typing import Any

from . import _core
from ._attention import Result
from ._error import InvalidArgumentError
from ._tensors import empty_numpy, is_torch, like, view_of


def _views(part: Any, with_max: bool) -> tuple[Any, Any, Any]:
    return view_of(part.out, "out"), view_of(part.lse, "lse"), view_of(part.max_scores, "max_scores") if with_max else None


def _merged_by_torch(first: Any, second: Any, with_max: bool) -> Result:
    """The same where torch's tensors are, by torch's operations: on a GPU nothing waits."""
    import torch

    wide = torch.promote_types(first.out.dtype, torch.float32)
    lse = torch.logaddexp(first.lse.to(wide), second.lse.to(wide))
    shift = torch.where(torch.isneginf(lse), 0.0, lse)
    parts = [(p.lse.to(wide) - shift).exp()[..., None] * p.out.to(wide) for p in (first, second)]
    top = torch.maximum(first.max_scores, second.max_scores) if with_max else None
    return Result((parts[0] + parts[1]).to(first.out.dtype), lse.to(first.lse.dtype), top)


def _merged(first: Any, second: Any) -> Result:
    with_max = first.max_scores is not None and second.max_scores is not None
    if is_torch(first.out) and first.out.device.type != "cpu":
        return _merged_by_torch(first, second, with_max)
    a, b = _views(first, with_max), _views(second, with_max)
    arrays = [empty_numpy(tuple(view.shape), view.dtype) for view in a if view is not None]
    into = [view_of(array, "merged") for array in arrays]
    _core.merge_partials(a, b, (*into, None)[:3])
    made = [like(array, first.out) for array in arrays]
    return Result(made[0], made[1], made[2] if with_max else None)


def merge_partials(*parts: Result) -> Result:
    """One Result from those of disjoint parts of the keys, each made with `return_lse=True`.

    out [B, Hq, Q, Ev] and lse [B, Hq, Q] are weighed by exp(lse) in fp32 (fp64 for fp64). Merging with a part
    without live pairs returns the other bit for bit. max_scores are merged where every part has them.
    """
    for place, part in enumerate(parts):
        if getattr(part, "lse", None) is None:
            raise InvalidArgumentError(
                "partial results are merged by their lse", f"part {place}", "a Result with lse",
                type(part).__name__, "call attention with return_lse=True",
            )  # fmt: skip
    if not parts:
        raise InvalidArgumentError("nothing to merge", "parts", "one Result or more", "none")
    return reduce(_merged, parts)
