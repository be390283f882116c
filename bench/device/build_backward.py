#!/usr/bin/env python3
"""Builds backward variants into cubins with nvcc, one after the other.

usage: build_backward.py OUT_DIR VARIANT...      (names: backward_source.py; arguments that begin with - go to nvcc)
Writes NAME.cubin; prints registers' spills of every kernel and whatever the compiler warns of.
"""
import pathlib
import re
import subprocess
import sys
import time

from backward_source import source

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ARCH = "-gencode=arch=compute_90a,code=sm_90a"


def build(out_dir, name, extra):
    text = out_dir / f"{name}.cu"
    text.write_text(source(name))
    command = ["nvcc", "-std=c++20", "-O3", "-cubin", ARCH, *extra, f"-I{ROOT}/kernels/cuda", f"-I{ROOT}/bench/device",
               "-Xptxas", "-v", str(text), "-o", str(out_dir / f"{name}.cubin")]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    log = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill stores", log)
    warnings = re.findall(r"(?:C75\d\d|warning|error).*", log)
    print(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'} {time.time() - start:.1f} s, spills {spills} {warnings[:3]}", flush=True)


def main():
    extra = [a for a in sys.argv[2:] if a.startswith("-")]
    out_dir = pathlib.Path(sys.argv[1])
    out_dir.mkdir(parents=True, exist_ok=True)
    for name in (a for a in sys.argv[2:] if not a.startswith("-")):
        build(out_dir, name, extra)


if __name__ == "__main__":
    main()
