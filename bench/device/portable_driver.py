"""Loads cubins of the portable forward family through libcuda and launches them on PyTorch tensors of any strides; mirrors
kernels/cuda/attention/portable_params.cuh and portable_merge.cuh."""
import ctypes
import math
import re
import struct

import torch

from driver import check, cuda

ELEMENTS = {"f16": torch.float16, "f32": torch.float32, "tf32": torch.float32}
LOG2_E = 1.4426950408889634


def load(folder, name, function):
    image = open(f"{folder}/{name}.cubin", "rb").read()
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    module, entry = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), image), f"load {name}")
    check(cuda.cuModuleGetFunction(ctypes.byref(entry), module, function), "function")
    return entry


def launch(function, grid, threads, shared, pointers):
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    check(cuda.cuLaunchKernel(function, *grid, threads, 1, 1, shared, stream, pointers, None), "launch")


def in_vectors(out):
    unit = 16 // out.element_size()
    return int(out.stride(3) == 1 and out.data_ptr() % 16 == 0 and out.shape[3] % 8 == 0
               and all(s % max(unit, 8) == 0 for s in out.stride()[:3]))


def slot_strides(slot, tensor, columns):
    return struct.pack("<5q", slot, *tensor.stride()[:3], tensor.stride(3) if columns else 0)


class Merge:
    def __init__(self, folder, name):
        self.function = load(folder, name, b"attention_merge")

    def prepare(self, parts, lse_parts, max_parts, out, lse, max_scores):
        splits, b, h, rows, ev = parts.shape
        address = lambda t: t.data_ptr() if t is not None else 0
        raw = struct.pack("<6Q", parts.data_ptr(), lse_parts.data_ptr(), address(max_parts), out.data_ptr(), address(lse),
                          address(max_scores))
        raw += slot_strides(0, out, True) + slot_strides(0, lse, False) + struct.pack("<6i", splits, b, h, rows, ev, 0)
        params = ctypes.create_string_buffer(raw, len(raw))
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(params))
        keep = (parts, lse_parts, max_parts, out, lse, max_scores, params)
        return lambda: (launch(self.function, (b * h * rows, 1, 1), 128, 0, pointers), keep)


class Lists:
    """Span lists on the device: per (b, h, block of q_block rows) a list of (kv_begin, kv_end, full)."""

    def __init__(self, lists, batches, heads, q_block):
        ranges, spans = [], []
        for one in lists:
            ranges.append((len(spans), len(spans) + len(one)))
            spans += one
        self.shape = (len(lists) // (batches * heads), q_block, batches, heads)
        rows = [(b, e, int(f), 0) for b, e, f in spans] or [(0, 0, 0, 0)]
        self.spans = torch.tensor(rows, dtype=torch.int32, device="cuda")
        self.ranges = torch.tensor(ranges, dtype=torch.int64, device="cuda")

    def packed(self):
        return struct.pack("<2Q4i", self.spans.data_ptr(), self.ranges.data_ptr(), *self.shape)


class PortableKernel:
    def __init__(self, folder, name):
        parts = name.split("_")
        self.name = name
        self.e, self.v = (int(x) for x in re.fullmatch(r"e(\d+)v(\d+)", parts[0]).groups())
        self.warps, self.strips = (int(x) for x in re.fullmatch(r"w(\d+)x(\d+)", parts[1]).groups())
        self.tile, self.stages, self.mods, self.options = int(parts[2][1:]), int(parts[3][1:]), parts[4], parts[5:]
        self.element = next((ELEMENTS[o] for o in self.options if o in ELEMENTS), torch.bfloat16)
        self.copy_bytes = 4 if "c4" in self.options else 2 if "c2" in self.options else 16
        self.packs = "pack" in self.options
        self.function = load(folder, name, b"attention_forward")
        self.smem = self.shared_bytes()
        check(cuda.cuFuncSetAttribute(self.function, 8, self.smem), f"shared memory {name}")
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    @property
    def q_rows(self):
        return 16 * self.strips * self.warps

    def shared_bytes(self):
        size = 4 if self.element == torch.float32 else 2
        row = lambda d: d * size + 16
        return self.q_rows * row(self.e) + self.stages * self.tile * (row(self.e) + row(self.v)) + 128 * 8 + 32 + 32 + 64

    def prepare(self, q, k, v, out, lse, max_scores=None, bindings=b"", scale=None, lists=None, splits=1, item_rows=None,
                longest_first=None):
        """A callable that launches on the current stream. With splits, out is [splits, B, Hq, Q, Ev] fp32, lse likewise."""
        b, hq, rows, e = q.shape
        bk, hkv, kv_rows, ev = v.shape
        scale = 1 / math.sqrt(e) if scale is None else scale
        group = hq // hkv
        pack = group if self.packs else 1
        item_rows = item_rows or self.q_rows
        q_tiles, block_tiles = -(-rows * pack // item_rows), 1
        if lists:
            block = lists.shape[1]
            block_tiles = -(-block // item_rows)
            q_tiles = rows // block * block_tiles + -(-(rows % block) // item_rows)
        items = b * hq // pack * splits * q_tiles
        if longest_first is None:
            longest_first = self.mods not in ("none", "relative")
        waves = min(max(q_tiles / 8, 2.0), 8.0) if longest_first else 2.0
        section = max(1, round(waves * self.sms / q_tiles / group)) * group
        slot = out.stride(0) if out.dim() == 5 else 0
        lse_slot = lse.stride(0) if lse.dim() == 4 else 0
        one, lse_one = (out[0], lse[0]) if out.dim() == 5 else (out, lse)
        raw = struct.pack("<7Q", q.data_ptr(), k.data_ptr(), v.data_ptr(), out.data_ptr(), lse.data_ptr(),
                          max_scores.data_ptr() if max_scores is not None else 0, 0)
        raw += b"".join(struct.pack("<4q", *t.stride()) for t in (q, k, v))
        raw += slot_strides(slot, one, True) + slot_strides(lse_slot, lse_one, False)
        raw += lists.packed() if lists else bytes(32)
        raw += struct.pack("<Q8i", 0, items, q_tiles, item_rows, section, int(longest_first), splits, -(-kv_rows // splits), block_tiles)
        raw = raw.ljust(304, b"\0") + struct.pack("<6i", b, hq, group, bk, rows, kv_rows)
        raw += struct.pack("<3i2f", e, ev, in_vectors(one), scale, scale * LOG2_E)
        params = ctypes.create_string_buffer(raw.ljust(368, b"\0"), 368)
        bound = ctypes.create_string_buffer(bindings.ljust(64, b"\0"), 64)
        pointers = (ctypes.c_void_p * 2)(ctypes.addressof(params), ctypes.addressof(bound))
        grid = (items, -(-ev // self.v), 1)
        keep = (q, k, v, out, lse, max_scores, lists, params, bound)
        return lambda: (launch(self.function, grid, 32 * self.warps, self.smem, pointers), keep)
