#!/usr/bin/env python3
"""Writes kernels/cuda/ptx/wgmma/m64n<N>k16.cuh, one file per instruction shape.

An inline-assembly statement cannot take an array of registers, so each shape needs its own text. Every file specialises
tilewright::cuda::ptx::Wgmma<N>. Run without arguments from anywhere inside the checkout.
"""
import pathlib

ELEMENTS = (("Bf16", "bf16"), ("F16", "f16"))
SHAPES = range(8, 257, 8)


def wrapped(items, indent, width=100):
    lines, line = [], indent
    for index, item in enumerate(items):
        text = item + ("," if index + 1 < len(items) else "")
        if len(line) + len(text) + 1 > width:
            lines.append(line.rstrip())
            line = indent
        line += text + " "
    lines.append(line.rstrip())
    return "\n".join(lines)


def quoted(items, indent, width=96):
    lines, line = [], ""
    for index, item in enumerate(items):
        text = item + (", " if index + 1 < len(items) else "")
        if len(indent) + len(line) + len(text) + 2 > width:
            lines.append(f'{indent}"{line}"')
            line = ""
        line += text
    lines.append(f'{indent}"{line}"')
    return "\n".join(lines)


def function(columns, tag, ptx_type, form):
    count = columns // 2
    outputs = [f'"+f"(d[{i}])' for i in range(count)]
    registers = [f"%{i}" for i in range(count)]
    kind = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{ptx_type}.{ptx_type} "
    prefix = ""
    if form == "registers_by_rows":
        signature = f"registers_by_rows({tag}, float (&d)[{count}], const u32* a, u64 b, u32 accumulate)"
        a_text = ", {" + ", ".join(f"%{count + i}" for i in range(4)) + "}"
        b_text, flag, tail = f"%{count + 4}", count + 5, "p, 1, 1, 1;"
        inputs = ['"r"(a[0])', '"r"(a[1])', '"r"(a[2])', '"r"(a[3])', '"l"(b)', '"r"(accumulate)']
    elif form == "shared_by_rows":
        prefix = "  template <int kARows>\n"
        signature = f"shared_by_rows({tag}, float (&d)[{count}], u64 a, u64 b, u32 accumulate)"
        a_text = f", %{count}"
        b_text, flag, tail = f"%{count + 1}", count + 2, f"p, 1, 1, %{count + 3}, 1;"
        inputs = ['"l"(a)', '"l"(b)', '"r"(accumulate)', '"n"(kARows)']
    else:
        signature = f"shared_by_columns({tag}, float (&d)[{count}], u64 a, u64 b, u32 accumulate)"
        a_text = f", %{count}"
        b_text, flag, tail = f"%{count + 1}", count + 2, "p, 1, 1, 0, 0;"
        inputs = ['"l"(a)', '"l"(b)', '"r"(accumulate)']
    return f"""{prefix}  static __device__ __forceinline__ void {signature} {{
    asm volatile(
        "{{ .reg .pred p; setp.ne.b32 p, %{flag}, 0; {kind}{{"
{quoted(registers, "        ")}
        "}}{a_text}, {b_text}, {tail} }}"
        :
{wrapped(outputs, "        ")}
        : {", ".join(inputs)});
  }}
"""


def file_text(columns):
    forms = ("shared_by_columns", "registers_by_rows", "shared_by_rows")
    functions = "\n".join(function(columns, tag, ptx_type, form) for form in forms for tag, ptx_type in ELEMENTS)
    return f"""// Written by scripts/generate_wgmma.py; change that, not this.
// d[64 x {columns}] (+)= a[64 x 16] b[16 x {columns}], fp32 accumulators in registers.
#pragma once

#include "ptx/wgmma.cuh"

namespace tilewright::cuda::ptx {{

// clang-format off
template <>
struct Wgmma<{columns}> {{
  /// a and b are shared-memory descriptors. By columns: the k dimension of both is contiguous. By
  /// rows: that of b runs along its rows, and that of a too where kARows is 1.
{functions}}};
// clang-format on

}}  // namespace tilewright::cuda::ptx
"""


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "kernels/cuda/ptx/wgmma"
    folder.mkdir(parents=True, exist_ok=True)
    for columns in SHAPES:
        (folder / f"m64n{columns}k16.cuh").write_text(file_text(columns))


if __name__ == "__main__":
    main()
