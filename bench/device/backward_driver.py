"""Loads backward cubins through libcuda and launches them on PyTorch tensors; mirrors kernels/cuda/attention/backward_params.cuh,
backward_prepare.cuh and gradient_finish.cuh."""
import ctypes
import math
import struct

import torch

from backward_source import Tiles
from driver import check, cuda, section_waves, tensor_map

LOG2E = 1.4426950408889634


class Launch:
    """One kernel with its parameters, packed once."""

    def __init__(self, function, grid, threads, smem, *blocks):
        self.function, self.grid, self.threads, self.smem = function, grid, threads, smem
        self.buffers = [ctypes.create_string_buffer(b, len(b) + 64) for b in blocks]
        self.pointers = (ctypes.c_void_p * len(blocks))(*[ctypes.addressof(b) for b in self.buffers])

    def __call__(self):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(cuda.cuLaunchKernel(self.function, self.grid, 1, 1, self.threads, 1, 1, self.smem, stream, self.pointers, None), "launch")


class BackwardKernel:
    def __init__(self, folder, spec):
        name, _, waves = spec.partition("@")
        self.waves = float(waves) if waves else None
        self.name, self.tiles = spec, Tiles(name)
        self.mods, self.options = self.tiles.mods, self.tiles.options
        self.element = torch.float16 if "f16" in self.options else torch.bfloat16
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), open(f"{folder}/{name}.cubin", "rb").read()), f"load {name}")
        self.module = module
        self.main = self.function("attention_backward")
        self.smem = self.tiles.shared_bytes()
        check(cuda.cuFuncSetAttribute(self.main, 8, self.smem), "shared memory")
        self.counters = torch.zeros(2, dtype=torch.int32, device="cuda")
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    def function(self, name):
        found = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(found), self.module, name.encode()), name)
        return found

    def workspace(self, b, hq, rows, bk, hkv, kv_rows, parts):
        """fp32 scratch, poisoned: every kernel clears or writes what it reads."""
        t = self.tiles
        q_tiles, kv_tiles = -(-rows // t.query_tile), -(-kv_rows // t.key_tile)
        nan = lambda *shape: torch.full(shape, float("nan"), device="cuda")
        space = dict(minus_lse=nan(b * hq, q_tiles * t.query_tile), delta=nan(b * hq, q_tiles * t.query_tile),
                     d_query=nan(b * hq, q_tiles, 128 * t.sum_columns))
        if "det" in self.options:
            space["turns"] = torch.full((b * hq, q_tiles, 2), -1, dtype=torch.int32, device="cuda")
        if "part" in self.options:
            space["d_key"] = nan(parts, bk * hkv, kv_tiles, 128 * t.key_columns)
            space["d_value"] = nan(parts, bk * hkv, kv_tiles, 128 * t.value_columns)
        return space

    def prepare(self, q, k, v, out, d_out, lse, gradients, bindings=b"", d_lse=None, parts=1, section=None):
        """A callable that launches everything on the current stream; everything else is done here. Its `main` is the main kernel
        alone, its `scratch` the workspace."""
        t = self.tiles
        b, hq, rows, _ = q.shape
        bk, hkv, kv_rows, _ = k.shape
        d_query, d_key, d_value = gradients
        q_tiles, kv_tiles = -(-rows // t.query_tile), -(-kv_rows // t.key_tile)
        space = self.workspace(b, hq, rows, bk, hkv, kv_rows, parts)
        pointer = lambda name: space[name].data_ptr() if name in space else 0
        scale = 1 / math.sqrt(t.e)

        copies = "copy" in self.options or "copyf32" in self.options
        seen = torch.full((b, hq, rows, t.v), float("nan"), device="cuda", dtype=self.element) if copies else d_out
        strides = lambda x: list(x.stride()) + [0] * (4 - x.dim())
        raw = struct.pack("<9Q", out.data_ptr(), d_out.data_ptr(), lse.data_ptr(), d_lse.data_ptr() if d_lse is not None else 0,
                          pointer("minus_lse"), pointer("delta"), seen.data_ptr() if copies else 0, pointer("d_query"), pointer("turns"))
        for x in (out, d_out, lse, d_lse if d_lse is not None else lse):
            raw += struct.pack("<4q", *strides(x))
        element_kind = 2 if self.element == torch.float16 else 3
        kind = lambda x: 1 if x.dtype == torch.float32 else element_kind
        vectors = lambda x: int(kind(x) == element_kind and x.stride(-1) == 1 and x.data_ptr() % 16 == 0
                                and all(s % 8 == 0 for s in x.stride()[:-1]))
        raw += struct.pack("<4i", hq, rows, q_tiles, 128 * t.sum_columns)
        raw += struct.pack("<9i", kind(out), kind(d_out), 1, vectors(out), vectors(d_out), t.v, t.query_tile, 1, t.query_tile)
        first = Launch(self.function("attention_backward_prepare"), b * hq * q_tiles, 128, 0, raw)

        items = bk * hkv * kv_tiles * parts
        uneven = self.mods not in ("none", "relative")
        ordered = "det" in self.options and not uneven
        waves = self.waves or (section_waves(kv_tiles, True, 16, 2, 4) if ordered else section_waves(kv_tiles, uneven))
        section = section or max(1, round(waves * self.sms / kv_tiles / parts))
        raw = tensor_map(q, t.query_tile, self.element) + tensor_map(k, t.key_tile, self.element)
        raw += tensor_map(v, t.key_tile, self.element) + tensor_map(seen, t.query_tile, self.element)
        raw += struct.pack("<9Q", pointer("minus_lse"), pointer("delta"), pointer("d_query"), pointer("turns"), pointer("d_key"),
                           pointer("d_value"), d_key.data_ptr(), d_value.data_ptr(), 0)
        raw += struct.pack("<6q", *d_key.stride()[:3], *d_value.stride()[:3])
        raw += struct.pack("<QQ4i", 0, self.counters.data_ptr(), items, kv_tiles, section, parts)
        raw += struct.pack("<6i", b, hq, hq // hkv, bk, rows, kv_rows)
        raw += struct.pack("<i2f", q_tiles, scale, scale * LOG2E)
        main = Launch(self.main, min(items, self.sms), 384, self.smem, raw.ljust(704, b"\0"), bindings.ljust(64, b"\0"))

        def finish(name, sums, gradient, heads, length, tiles, part_floats, factor):
            rows_of_tile = t.query_tile if name.endswith("query") else t.key_tile
            raw = struct.pack("<QQ5q4if7i", sums, gradient.data_ptr(), part_floats, *gradient.stride(), heads, length, tiles,
                              parts if part_floats else 1, factor, 2 if self.element == torch.float16 else 3, 1,
                              gradient.shape[3], rows_of_tile, 1, rows_of_tile, 0)
            return Launch(self.function(name), gradient.shape[0] * heads * tiles, 256, 0, raw)

        last = [finish("attention_backward_finish_query", pointer("d_query"), d_query, hq, rows, q_tiles, 0, scale)]
        if "part" in self.options:
            for name, gradient, factor in (("key", d_key, scale), ("value", d_value, 1.0)):
                sums = space[f"d_{name}"]
                last.append(finish(f"attention_backward_finish_{name}", sums.data_ptr(), gradient, hkv, kv_rows, kv_tiles,
                                   sums[0].numel(), factor))
        keep = (q, k, v, out, d_out, lse, d_lse, gradients, space, seen)

        def launch():
            first()
            main()
            for finishing in last:
                finishing()
            return keep

        launch.main, launch.first, launch.last, launch.scratch = main, first, last, space
        return launch
