"""Loads forward cubins through libcuda and launches them on PyTorch tensors; mirrors kernels/cuda/attention/forward_params.cuh."""
import ctypes
import math
import os
import re
import struct

import torch

cuda = ctypes.CDLL("libcuda.so.1")


def section_waves(q_tiles, uneven, tiles_a_wave=8, fewest=2, most=8):
    """Items of a section of heads, per multiprocessor. Small sections keep keys and values in L2; where items differ in length
    the last section must be long enough to balance."""
    return min(max(q_tiles / tiles_a_wave, fewest), most) if uneven else 1.0


def check(status, what):
    if status != 0:
        raise RuntimeError(f"{what}: CUresult {status}")


def tensor_map(tensor, rows_in_box, element):
    """Rank-4 map [D, S, H, B] of a [B, H, S, D] tensor, boxes of 64 columns, 128-byte swizzle."""
    b, h, s, d = tensor.shape
    size = (ctypes.c_uint64 * 4)(d, s, h, b)
    strides = [st * 2 for st in (tensor.stride(2), tensor.stride(1), tensor.stride(0))]
    stride = (ctypes.c_uint64 * 3)(*strides)
    box = (ctypes.c_uint32 * 4)(64, rows_in_box, 1, 1)
    unit = (ctypes.c_uint32 * 4)(1, 1, 1, 1)
    raw = ctypes.create_string_buffer(256)
    aligned = (ctypes.addressof(raw) + 63) // 64 * 64
    data_type = {torch.bfloat16: 9, torch.float16: 6}[element]
    check(cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(aligned), data_type, 4, ctypes.c_void_p(tensor.data_ptr()), size, stride,
                                      box, unit, 0, 3, 2, 0), "cuTensorMapEncodeTiled")
    return ctypes.string_at(aligned, 128)


class Kernel:
    def __init__(self, folder, spec):
        name, _, waves = spec.partition("@")
        self.waves = float(waves) if waves else None
        parts = os.path.basename(name).split("_")
        self.name = spec
        self.e, self.v = (int(x) for x in re.fullmatch(r"e(\d+)v(\d+)", parts[0]).groups())
        self.groups, self.tile = (int(p[1:]) for p in parts[1:3])
        self.stages = [int(c) for c in parts[3][1:]]
        self.mods, self.options = parts[4], parts[5:]
        self.element = torch.float16 if "f16" in self.options else torch.bfloat16
        image = open(f"{folder}/{name}.cubin", "rb").read()
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), image), f"load {name}")
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), module, b"attention_forward"), "function")
        self.smem = self.shared_bytes()
        check(cuda.cuFuncSetAttribute(self.function, 8, self.smem), "shared memory")
        self.counters = torch.zeros(2, dtype=torch.int32, device="cuda")
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    def shared_bytes(self):
        chunks = lambda d: (d + 63) // 64
        query = self.groups * 64 * 128 * chunks(self.e) * self.stages[0]
        ring = self.tile * 128 * (self.stages[1] * chunks(self.e) + self.stages[2] * chunks(self.v))
        return query + ring + 1024

    def prepare(self, q, k, v, out, lse, max_scores=None, bindings=b"", scale=None, longest_first=None):
        """A callable that launches on the current stream; everything else is done here."""
        b, hq, rows, e = q.shape
        bk, hkv, kv_rows, _ = k.shape
        scale = 1 / math.sqrt(e) if scale is None else scale
        q_tiles = -(-rows // (64 * self.groups))
        items = b * hq * q_tiles
        group = hq // hkv
        if longest_first is None:
            longest_first = self.mods.removeprefix("emit-") not in ("none", "relative")
        waves = self.waves or section_waves(q_tiles, longest_first, 4, 4, 16)
        section = max(1, round(waves * self.sms / q_tiles / group)) * group
        raw = tensor_map(q, 64, self.element) + tensor_map(k, self.tile, self.element) + tensor_map(v, self.tile, self.element)
        raw += struct.pack("<4Q", out.data_ptr(), lse.data_ptr(), max_scores.data_ptr() if max_scores is not None else 0, 0)
        raw += struct.pack("<4q", 0, out.stride(0), out.stride(1), out.stride(2))
        raw += struct.pack("<4q", 0, lse.stride(0), lse.stride(1), lse.stride(2))
        raw += struct.pack("<QQ4i", 0, self.counters.data_ptr(), items, q_tiles, section, int(longest_first))
        raw += struct.pack("<6i", b, hq, group, bk, rows, kv_rows)
        raw += struct.pack("<2f", scale, scale * 1.4426950408889634)
        params = ctypes.create_string_buffer(raw.ljust(576, b"\0"), 576 + 64)
        bound = ctypes.create_string_buffer(bindings.ljust(64, b"\0"), max(64, len(bindings)))
        pointers = (ctypes.c_void_p * 2)(ctypes.addressof(params), ctypes.addressof(bound))
        grid = min(items, int(os.environ.get("FORWARD_BLOCKS", self.sms)))
        threads = 128 * (self.groups + 1)
        keep = (q, k, v, out, lse, max_scores, params, bound)

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            check(cuda.cuLaunchKernel(self.function, grid, 1, 1, threads, 1, 1, self.smem, stream, pointers, None), "launch")
            return keep

        return launch
