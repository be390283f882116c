"""The fields of a BlockMask that hold its lists: their names, how they are read and written, and what the
constructor asks of them."""

from __future__ import annotations

from typing import Any

LISTS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
    "q_indices", "full_q_num_blocks", "full_q_indices", "dq_write_order", "dq_write_order_full",
    "dq_kv_order",
)  # fmt: skip


def list_field(name: str) -> property:
    """A list that is made when it is first read; writing one makes the lists decide."""

    def get(mask: Any) -> Any:
        if name not in mask._fields:
            mask._make_lists()
        return mask._fields.get(name)

    def put(mask: Any, value: Any) -> None:
        mask._make_lists()
        mask._fields[name] = value
        mask._lists_decide = True

    return property(get, put)


def require_rank(kv_indices: Any) -> None:
    if kv_indices.dim() < 2:
        raise RuntimeError("BlockMask must have at least 2 dimensions")


def require_lists(fields: dict[str, Any]) -> None:
    """PyTorch's errors for lists that are missing or stand alone."""
    for name in ("kv_num_blocks", "kv_indices"):
        if fields[name] is None:
            raise AssertionError(f"{name} must be provided")
    require_rank(fields["kv_indices"])
    for pair in ("full_kv", "full_q"):
        counts, indices = f"{pair}_num_blocks", f"{pair}_indices"
        if (fields[counts] is None) != (fields[indices] is None):
            raise AssertionError(f"{counts} and {indices} must be both provided or omitted")
    if fields["dq_write_order_full"] is not None and fields["dq_write_order"] is None:
        raise ValueError("dq_write_order_full requires dq_write_order")
