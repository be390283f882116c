#!/usr/bin/env python3
"""Builds forward variants into cubins with nvcc, as the library does with NVRTC.

usage: build_variants.py OUT_DIR VARIANT...
A variant is e<E>v<Ev>_w<warpgroups>_n<key tile>_s<query stages><key stages><value stages>_<mods>[_option...]; options: f16
defer (defers the range check) nopp (no ping-pong) max (tracks the maximum) scale (scales first) poly<period>. Writes NAME.cubin and prints registers and spills of each.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ARCH = "-gencode=arch=compute_90a,code=sm_90a"


def flag(value):
    return "true" if value else "false"


def source(name):
    parts = name.split("_")
    e, v = re.fullmatch(r"e(\d+)v(\d+)", parts[0]).groups()
    groups, tile = (int(p[1:]) for p in parts[1:3])
    query_stages, key_stages, value_stages = parts[3][1:]
    mods, options = parts[4], parts[5:]
    poly = next((int(o[4:]) for o in options if o.startswith("poly")), 0)
    shapes = sorted({tile, int(v)})
    includes = "".join(f'#include "ptx/wgmma/m64n{n}k16.cuh"\n' for n in shapes)
    return f"""#include "mods/{mods.replace("-", "_")}.cuh"
{includes}#include "attention/hopper_forward.cuh"

namespace tilewright::cuda {{
struct EmittedVariant {{
  using Element = {"F16" if "f16" in options else "Bf16"};
  static constexpr int kHeadDim = {e};
  static constexpr int kValueDim = {v};
  static constexpr int kWarpgroups = {groups};
  static constexpr int kKeyTile = {tile};
  static constexpr int kQueryStages = {query_stages};
  static constexpr int kKeyStages = {key_stages};
  static constexpr int kValueStages = {value_stages};
  static constexpr int kPolynomialPeriod = {poly};
  static constexpr bool kWalksLists = false;
  static constexpr bool kReadsLengths = false;
  static constexpr bool kPingPong = {flag("nopp" not in options and groups > 1)};
  static constexpr bool kDefersCheck = {flag("defer" in options)};
  static constexpr bool kTracksMaximum = {flag("max" in options)};
  static constexpr bool kScalesFirst = {flag("scale" in options)};
}};
}}  // namespace tilewright::cuda

extern "C" __global__ void __launch_bounds__({128 * (groups + 1)}, 1) attention_forward(
    const __grid_constant__ tilewright::cuda::ForwardParams params,
    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{
  tilewright::cuda::hopper_forward<tilewright::cuda::EmittedVariant, tilewright::cuda::EmittedMods>(
      params, bindings);
}}
"""


def build(out_dir, name, extra):
    text = out_dir / f"{name}.cu"
    text.write_text(source(name))
    command = ["nvcc", "-std=c++20", "-O3", "-cubin", ARCH, *extra, f"-I{ROOT}/kernels/cuda", f"-I{ROOT}/bench/device",
               "-Xptxas", "-v", str(text), "-o", str(out_dir / f"{name}.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    log = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill stores", log)
    warnings = re.findall(r"(?:C75\d\d|warning|error).*", log)
    return name, done.returncode, spills, warnings


def main():
    extra = [a for a in sys.argv[2:] if a.startswith("-")]
    names = [a for a in sys.argv[2:] if not a.startswith("-")]
    out_dir = pathlib.Path(sys.argv[1])
    out_dir.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, spills, warnings in pool.map(lambda n: build(out_dir, n, extra), names):
            print(f"{name}: {'ok' if status == 0 else 'FAILED'} spills {spills} {warnings[:3]}", flush=True)


if __name__ == "__main__":
    main()
