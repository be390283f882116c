#!/usr/bin/env python3
"""Builds variants of the portable backward family into cubins with nvcc.

usage: build_portable_backward.py OUT_DIR ARCH VARIANT... [nvcc option...]     (names: portable_backward_source.py; ARCH: 80, 90, 120)
Writes NAME.cubin; prints registers, stack and spills of the main kernel and whatever the compiler warns of.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from portable_backward_source import source

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def build(out_dir, arch, name, extra):
    text = out_dir / f"{name}.cu"
    text.write_text(source(name))
    command = ["nvcc", "-std=c++20", "-O3", "-cubin", f"-gencode=arch=compute_{arch},code=sm_{arch}", *extra,
               f"-I{ROOT}/kernels/cuda", f"-I{ROOT}/bench/device", "-Xptxas", "-v", str(text), "-o", str(out_dir / f"{name}.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    log = done.stdout + done.stderr
    main = re.search(r"Compiling entry function 'attention_backward'.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?Used (\d+) reg",
                     log, re.S)
    warnings = re.findall(r"(?:warning|error).*", log)
    return name, done.returncode, f"(stack, spills, registers) {main.groups() if main else None}", warnings


def main():
    extra = [a for a in sys.argv[3:] if a.startswith("-")]
    names = sorted({a.partition("@")[0] for a in sys.argv[3:] if not a.startswith("-")})
    out_dir, arch = pathlib.Path(sys.argv[1]), sys.argv[2]
    out_dir.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, facts, warnings in pool.map(lambda n: build(out_dir, arch, n, extra), names):
            print(f"{name}: {'ok' if status == 0 else 'FAILED'} {facts} {warnings[:3]}", flush=True)


if __name__ == "__main__":
    main()
