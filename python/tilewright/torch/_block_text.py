"""The blocks of a mask as characters."""

from __future__ import annotations

import itertools
from typing import Any


def _character(section: Any) -> str:
    share = section.float().mean().item()
    if share == 1:
        return "█"
    return " " if share == 0 else "░"


def _one(dense: Any, grid: tuple[int, int]) -> str:
    rows, columns = dense.shape
    row_step, column_step = (max(1, -(-n // g)) for n, g in zip((rows, columns), grid))
    lines = []
    for r in range(0, rows, row_step):
        cells = range(0, columns, column_step)
        line = "".join(_character(dense[r : r + row_step, c : c + column_step]) * 2 for c in cells)
        lines.append(line + "\n")
    return "".join(lines)


def block_picture(dense: Any, grid_size: int | tuple[int, int], limit: int) -> str:
    *batch_dims, rows, columns = dense.shape
    grid = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
    if grid_size == -1:
        grid = (rows, columns)
    parts = []
    for count, place in enumerate(itertools.product(*map(range, batch_dims))):
        if count == limit:
            parts += [
                "...",
                "To print out more, set BlockMask.to_string(limit=N)",
                "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
            ]
            break
        parts.append(f"{place}\n" + _one(dense[place], grid))
    return "\n".join(parts)


def block_report(mask: Any, fields: Any) -> str:
    """What a BlockMask holds: shapes of its lists, sizes, sparsity and the name of its mask_mod."""
    lines = []
    for field in fields:
        tensor = getattr(mask, field)
        lines.append(f"    {field}={None if tensor is None else tensor.shape},\n")
    name = getattr(mask.mask_mod, "__name__", mask.mask_mod)
    return (
        "BlockMask(\n" + "".join(lines) + f"    BLOCK_SIZE={mask.BLOCK_SIZE},\n"
        f"    shape={mask.shape},\n    sparsity={mask.sparsity():.2f}%,\n    mask_mod={name}\n)"
    )
