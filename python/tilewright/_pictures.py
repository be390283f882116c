"""Masks as pictures, in notebooks and files, without looking at all pairs."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from . import _core
from ._error import InvalidArgumentError
from ._tensors import empty_numpy, view_of
from ._trace import Traced, on_host, trace

_COLOURS = ((245, 245, 245), (150, 190, 230), (30, 90, 160))
_NAMES = ("no pair is live", "the mask decides pair by pair", "every pair is live")


def png(rows: list[bytes]) -> bytes:
    """An RGB picture as PNG; each row is bytes of 3 a pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class Mask:
    """A mask for given lengths: its sparsity, its exact matrix, its picture.

    Pictures show at most `cells` x `cells` tiles: empty, partial or full by interval arithmetic.
    """

    def __init__(self, traced: Traced, sizes: dict[str, int], cells: int = 64):
        self._program = on_host(traced.program)
        self._sizes = sizes
        self.cells = cells
        self._map = _core.MaskMap.build(self._program, sizes)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        names = ("batch", "heads", "q_len", "kv_len")
        return tuple(self._sizes[name] for name in names)  # type: ignore[return-value]

    @property
    def sparsity(self) -> float:
        """Percent of all pairs that no tile visit covers."""
        return self._map.sparsity

    @property
    def live_pairs(self) -> int:
        """Exact number of live pairs over batch and heads."""
        return self._map.live_pairs

    @property
    def nbytes(self) -> int:
        return self._map.nbytes

    def grid(self, b: int = 0, h: int = 0, cells: int | None = None) -> list[bytes]:
        """Rows of tile classes: 0 empty, 1 partial, 2 full."""
        cells = cells or self.cells
        rows, columns = (max(1, min(cells, n)) for n in self.shape[2:])
        flat = self._map.tile_grid((b, h), (rows, columns))
        return [flat[r * columns : (r + 1) * columns] for r in range(rows)]

    def dense(self) -> Any:
        """The exact mask as a numpy array of bool [B, H, Q, KV]: every pair, so for small sizes."""
        import numpy

        matrix = numpy.zeros(self.shape, dtype=bool)
        self._map.write_dense(self._program, view_of(matrix, "mask"))
        return matrix

    def _repr_png_(self) -> bytes:
        grid = self.grid()
        scale = max(1, 256 // max(len(grid), len(grid[0])))
        rows = []
        for row in grid:
            line = b"".join(bytes(_COLOURS[cell]) * scale for cell in row)
            rows.extend([line] * scale)
        return png(rows)

    def _repr_svg_(self) -> str:
        grid = self.grid()
        width, height = len(grid[0]), len(grid)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{min(512, width * 8)}" shape-rendering="crispEdges">'
        ]
        for kind, (colour, name) in enumerate(zip(_COLOURS, _NAMES)):
            path = "".join(
                f"M{x} {y}h1v1h-1z"
                for y, row in enumerate(grid)
                for x, cell in enumerate(row)
                if cell == kind
            )
            fill = "#%02x%02x%02x" % colour
            parts.append(f'<path fill="{fill}" d="{path}"><title>{name}</title></path>')
        return "".join(parts) + "</svg>"

    def save(self, path: str) -> None:
        """Writes the picture; the name ends in .svg or .png."""
        if path.endswith(".svg"):
            data = self._repr_svg_().encode()
        elif path.endswith(".png"):
            data = self._repr_png_()
        else:
            raise InvalidArgumentError("pictures are SVG or PNG", "path", ".svg or .png", path)
        with open(path, "wb") as file:
            file.write(data)

    def __repr__(self) -> str:
        return f"Mask(shape={self.shape}, sparsity={self.sparsity:.2f}%)"


def mask(mask_mod: Any, q_len: int, kv_len: int, *, batch: int = 1, heads: int = 1) -> Mask:
    """A mask for looking at: sparsity, pictures, the exact matrix. Takes no part in attention."""
    sizes = {"batch": batch, "heads": heads, "q_len": q_len, "kv_len": kv_len}
    return Mask(trace(None, mask_mod), sizes)


def score_map(
    score_mod: Any, q_len: int, kv_len: int, *, mask_mod: Any = None, score: float = 0.0,
    b: int = 0, h: int = 0,
) -> Any:
    """What a score_mod makes of one score at every pair, as a numpy array [Q, KV] in fp64; dead
    pairs are -inf. For heat maps of biases."""  # fmt: skip
    traced = trace(score_mod, mask_mod)
    values = empty_numpy((q_len, kv_len), "f64")
    for q in range(q_len):
        for kv in range(kv_len):
            value, live = traced.program.score_at(score, (b, h, q, kv))
            values[q, kv] = value if live else float("-inf")
    return values
