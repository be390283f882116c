#!/usr/bin/env python3
"""Builds variants of the portable forward family into cubins with nvcc, as the library does with NVRTC.

usage: build_portable.py OUT_DIR ARCH VARIANT... [nvcc option...]     (ARCH: 80, 90, 100, 120)
A variant is e<head tile>v<value tile>_w<warps>x<strips>_n<key tile>_s<stages>_<mods>[_option...]; options: f16 f32 tf32 (else
bf16), c4 c2 (copies of 4 or 2 bytes), pack (packs groups), part (fp32 partial outputs), max (tracks the maximum), lists (walks span lists), scale (scales
first), try (tries the reference), hold (holds the query), b<blocks> (at least so many a multiprocessor), poly<period>.
The variant "merge" is the kernel that joins partial outputs; merge_f16 and merge_f32 likewise. Writes NAME.cubin and prints
registers, spills, stack and shared memory of each.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ELEMENTS = {"f16": "F16", "f32": "F32", "tf32": "Tf32"}


def flag(value):
    return "true" if value else "false"


def number(options, name, default):
    return next((int(o[len(name):]) for o in options if re.fullmatch(name + r"\d+", o)), default)


def merge_source(name):
    element = next((e for o, e in ELEMENTS.items() if o in name.split("_")), "Bf16")
    return f"""#include "attention/portable_merge.cuh"

extern "C" __global__ void __launch_bounds__(128) attention_merge(
    const __grid_constant__ tilewright::cuda::MergeParams params) {{
  tilewright::cuda::portable_merge<tilewright::cuda::{element}>(params);
}}
"""


def source(name):
    parts = name.split("_")
    e, v = re.fullmatch(r"e(\d+)v(\d+)", parts[0]).groups()
    warps, strips = re.fullmatch(r"w(\d+)x(\d+)", parts[1]).groups()
    tile, stages, mods, options = parts[2][1:], parts[3][1:], parts[4], parts[5:]
    element = next((ELEMENTS[o] for o in options if o in ELEMENTS), "Bf16")
    return f"""#include "mods/{mods.replace("-", "_")}.cuh"
#include "attention/portable_forward.cuh"

namespace tilewright::cuda {{
struct EmittedVariant {{
  using Element = {element};
  static constexpr int kHeadTile = {e};
  static constexpr int kValueTile = {v};
  static constexpr int kWarps = {warps};
  static constexpr int kStrips = {strips};
  static constexpr int kKeyTile = {tile};
  static constexpr int kStages = {stages};
  static constexpr int kCopyBytes = {4 if "c4" in options else 2 if "c2" in options else 16};
  static constexpr int kPolynomialPeriod = {number(options, "poly", 0)};
  static constexpr bool kPacksGroup = {flag("pack" in options)};
  static constexpr bool kWalksLists = {flag("lists" in options)};
  static constexpr bool kPartialOut = {flag("part" in options)};
  static constexpr bool kTracksMaximum = {flag("max" in options)};
  static constexpr bool kScalesFirst = {flag("scale" in options)};
  static constexpr bool kTriesReference = {flag("try" in options)};
  static constexpr bool kHoldsQuery = {flag("hold" in options)};
}};
}}  // namespace tilewright::cuda

extern "C" __global__ void __launch_bounds__({32 * int(warps)}, {number(options, "b", 1)}) attention_forward(
    const __grid_constant__ tilewright::cuda::PortableParams params,
    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{
  tilewright::cuda::portable_forward<tilewright::cuda::EmittedVariant, tilewright::cuda::EmittedMods>(
      params, bindings);
}}
"""


def build(out_dir, arch, name, extra):
    text = out_dir / f"{name}.cu"
    text.write_text(merge_source(name) if name.startswith("merge") else source(name))
    command = ["nvcc", "-std=c++20", "-O3", "-cubin", f"-gencode=arch=compute_{arch},code=sm_{arch}", *extra,
               f"-I{ROOT}/kernels/cuda", f"-I{ROOT}/bench/device", "-Xptxas", "-v", str(text), "-o", str(out_dir / f"{name}.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    log = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", log)
    registers = re.findall(r"Used (\d+) registers", log)
    warnings = re.findall(r"(?:C75\d\d|warning|error).*", log)
    return name, done.returncode, f"registers {registers} (stack, spills) {spills}", warnings


def main():
    extra = [a for a in sys.argv[3:] if a.startswith("-")]
    names = [a for a in sys.argv[3:] if not a.startswith("-")]
    out_dir, arch = pathlib.Path(sys.argv[1]), sys.argv[2]
    out_dir.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, facts, warnings in pool.map(lambda n: build(out_dir, arch, n, extra), names):
            print(f"{name}: {'ok' if status == 0 else 'FAILED'} {facts} {warnings[:3]}", flush=True)


if __name__ == "__main__":
    main()
