"""Loads cubins of the portable backward family through libcuda and launches them on PyTorch tensors of any strides; mirrors
kernels/cuda/attention/portable_backward_params.cuh, backward_prepare.cuh and gradient_finish_params.cuh."""
import ctypes
import math
import struct

import torch

from backward_driver import Launch
from driver import check, cuda, section_waves
from portable_backward_source import Tiles
from portable_driver import in_vectors

LOG2_E = 1.4426950408889634
KINDS = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}
ELEMENTS = {"Bf16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "Tf32": torch.float32}


def address(tensor):
    return tensor.data_ptr() if tensor is not None else 0


def strides(tensor):
    return struct.pack("<4q", *(list(tensor.stride()) + [0] * (4 - tensor.dim()))) if tensor is not None else bytes(32)


class PortableBackwardKernel:
    def __init__(self, folder, spec):
        name, _, waves = spec.partition("@")
        self.waves = float(waves) if waves else None
        self.name, self.tiles = spec, Tiles(name)
        self.mods, self.options = self.tiles.mods, self.tiles.options
        self.e, self.v, self.copy_bytes = self.tiles.e, self.tiles.v, self.tiles.copy_bytes
        self.element = ELEMENTS[self.tiles.element]
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self.module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), open(f"{folder}/{name}.cubin", "rb").read()), f"load {name}")
        self.main = self.function("attention_backward")
        self.smem = self.tiles.shared_bytes()
        check(cuda.cuFuncSetAttribute(self.main, 8, self.smem), f"shared memory {name}")
        self.counters = torch.zeros(2, dtype=torch.int32, device="cuda")
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    def function(self, name):
        found = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(found), self.module, name.encode()), name)
        return found

    def workspace(self, streams, q_tiles, key_heads, kv_tiles, parts):
        """fp32 scratch, poisoned: every kernel clears or writes what it reads."""
        t = self.tiles
        nan = lambda *shape: torch.full(shape, float("nan"), device="cuda")
        space = dict(minus_lse=nan(streams, q_tiles, t.query_tile), delta=nan(streams, q_tiles, t.query_tile))
        if t.wanted[0]:
            space["d_query"] = nan(streams, q_tiles, t.query_tile * t.e)
        if "det" in self.options:
            space["turns"] = torch.full((streams, q_tiles), -1, dtype=torch.int32, device="cuda")
        if parts > 1:
            if t.wanted[1]:
                space["d_key"] = nan(parts, key_heads, kv_tiles, t.key_tile * t.e)
            if t.wanted[2]:
                space["d_value"] = nan(parts, key_heads, kv_tiles, t.key_tile * t.v)
        return space

    def prepare(self, q, k, v, out, d_out, lse, gradients, bindings=b"", d_lse=None, parts=1, scale=None, lists=None, tile_rows=None):
        """A callable that launches everything on the current stream. Its `main` is the main kernel alone."""
        t = self.tiles
        b, hq, rows, e = q.shape
        bk, hkv, kv_rows, ev = v.shape
        d_query, d_key, d_value = gradients
        assert [g is not None for g in gradients] == list(t.wanted)
        tile_rows = tile_rows or t.query_tile
        q_tiles, kv_tiles = -(-rows // tile_rows), -(-kv_rows // t.key_tile)
        space = self.workspace(b * hq, q_tiles, bk * hkv, kv_tiles, parts)
        scale = 1 / math.sqrt(e) if scale is None else scale
        copies = "copy" in self.options or "gradf" in self.options
        copy = torch.full((b, hq, rows, -(-ev // 8) * 8), float("nan"), device="cuda", dtype=self.element) if copies else None
        seen = copy[..., :ev] if copies else d_out

        raw = struct.pack("<9Q", address(out), address(d_out), address(lse), address(d_lse), address(space["minus_lse"]),
                          address(space["delta"]), address(copy), address(space.get("d_query")), address(space.get("turns")))
        raw += strides(out) + strides(d_out) + strides(lse) + strides(d_lse)
        vectors = lambda x: int(x is not None and x.dtype == self.element and in_vectors(x))
        raw += struct.pack("<4i", hq, rows, q_tiles, t.query_tile * t.e)
        raw += struct.pack("<9i", KINDS[out.dtype], KINDS[d_out.dtype], 1, vectors(out), vectors(d_out), ev, tile_rows, 1, tile_rows)
        first = Launch(self.function("attention_backward_prepare"), b * hq * q_tiles, 128, 0, raw)

        items = bk * hkv * kv_tiles * parts
        waves = self.waves or section_waves(kv_tiles, self.mods not in ("none", "relative"))
        section = max(1, round(waves * self.sms / kv_tiles / parts))
        raw = struct.pack("<13Q", address(q), address(k), address(v), address(seen), address(space["minus_lse"]), address(space["delta"]),
                          address(space.get("d_query")), address(space.get("turns")), address(space.get("d_key")),
                          address(space.get("d_value")), address(d_key), address(d_value), 0)
        raw += b"".join(strides(x) for x in (q, k, v, seen, d_key, d_value))
        raw += (lists.packed() if lists else bytes(32)) + bytes(16)
        raw += struct.pack("<QQ4i", 0, self.counters.data_ptr(), items, kv_tiles, section, parts)
        raw += struct.pack("<6i", b, hq, hq // hkv, bk, rows, kv_rows)
        raw += struct.pack("<9i2fi", q_tiles, tile_rows, 1, tile_rows, e, ev, vectors(d_key), vectors(d_value), int(d_lse is not None), scale,
                           scale * LOG2_E, 0)
        assert len(raw) == 448
        main = Launch(self.main, items, t.threads, self.smem, raw, bindings.ljust(64, b"\0"))

        def finish(name, sums, gradient, heads, length, tiles, rows_of_tile, count, factor):
            raw = struct.pack("<QQ5q", address(sums), address(gradient), sums[0].numel() if count > 1 else 0, *gradient.stride())
            raw += struct.pack("<4if7i", heads, length, tiles, count, factor, KINDS[gradient.dtype], vectors(gradient), gradient.shape[3],
                               rows_of_tile, 1, rows_of_tile, 0)
            return Launch(self.function(name), gradient.shape[0] * heads * tiles, 256, 0, raw)

        last = []
        if d_query is not None:
            last.append(finish("attention_backward_finish_query", space["d_query"], d_query, hq, rows, q_tiles, tile_rows, 1, scale))
        if parts > 1:
            for name, gradient, factor in (("key", d_key, scale), ("value", d_value, 1.0)):
                if gradient is not None:
                    last.append(finish(f"attention_backward_finish_{name}", space[f"d_{name}"], gradient, hkv, kv_rows, kv_tiles,
                                       t.key_tile, parts, factor))
        keep = (q, k, v, out, d_out, lse, d_lse, gradients, space, seen, copy, lists)

        def launch():
            first()
            main()
            for finishing in last:
                finishing()
            return keep

        launch.main, launch.first, launch.last, launch.scratch = main, first, last, space
        return launch
