"""Installs a wheel into a new environment and uses it there: check_wheel.py PYTHON WHEEL

The environment has numpy and nothing else: no torch, no compiler on the path, no CUDA. Then the import
beside what brings an LLVM of its own, in both orders, in the environment that runs this script.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

LARGEST_BYTES = 60_000_000
NEIGHBOURS = ("torch", "llvmlite.binding", "triton")

USE = """
import importlib.util, shutil, sys
assert not any(importlib.util.find_spec(name) for name in ("torch", "nanobind", "llvmlite"))
assert not any(shutil.which(name) for name in ("cc", "gcc", "g++", "clang", "nvcc", "ld"))
import numpy as np, tilewright as tw
assert tw.__file__.startswith(sys.prefix), tw.__file__
q, k, v = (np.random.default_rng(i).standard_normal((1, 4, 200, 64)).astype(np.float32) for i in range(3))
out = tw.attention(q, k, v, score_mod=lambda s, b, h, i, j: 5 * np.tanh(s / 5), mask_mod=tw.masks.causal(),
                   require_fast=True)
s = 5 * np.tanh((q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)) / 8 / 5)
s[..., np.triu(np.ones((200, 200), bool), 1)] = -np.inf
p = np.exp(s - s.max(-1, keepdims=True))
want = p / p.sum(-1, keepdims=True) @ v.astype(np.float64)
assert np.abs(out - want).max() < 1e-5, np.abs(out - want).max()
print("used", sys.version.split()[0])
"""

BESIDE = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
import numpy as np, tilewright as tw
x = np.ones((1, 2, 40, 16), np.float32)
assert np.allclose(tw.attention(x, x, x, mask_mod=lambda b, h, q, kv: q >= kv), 1)
if "torch" in sys.argv:
    import torch
    torch.nn.functional.softmax(torch.randn(64, 64) @ torch.randn(64, 64), -1)
if "llvmlite.binding" in sys.argv:
    from llvmlite import binding
    binding.parse_assembly("define i32 @f() { ret i32 7 }").verify()
"""


def run(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"check_wheel: {' '.join(command[:4])} ...\n{done.stdout}{done.stderr}")
    return done.stdout


def check_symbols(wheel: Path, folder: str) -> None:
    """The extension shows the module's entry and nothing else: its LLVM meets no other."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if "/_core" in n and n.endswith(".so")]
        archive.extract(names[0], folder)
    table = run(["nm", "-D", "--defined-only", str(Path(folder, names[0]))])
    shown = {line.split()[-1] for line in table.splitlines()}
    if shown != {"PyInit__core"}:
        sys.exit(f"check_wheel: symbols are visible: {sorted(shown)[:10]}")


def check_fresh(python: str, wheel: Path, folder: str) -> None:
    environment = Path(folder, "env")
    run([python, "-m", "venv", str(environment)])
    fresh = str(environment / "bin" / "python")
    run([fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy"])
    begin = time.monotonic()
    run([fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", str(wheel)])
    seconds = time.monotonic() - begin
    clean = {"PATH": str(environment / "bin"), "HOME": folder}
    print(run([fresh, "-c", USE], cwd=folder, env=clean).strip(), f"installed in {seconds:.1f} s")


def check_beside(wheel: Path, folder: str) -> None:
    """In this Python's environment, the wheel's files first on the path."""
    place = Path(folder, "unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    present = [n for n in NEIGHBOURS if importlib.util.find_spec(n.partition(".")[0])]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    for neighbour in present:
        for order in ((neighbour, "tilewright"), ("tilewright", neighbour)):
            run([sys.executable, "-c", BESIDE, *order], cwd=folder, env=environment)
    print("imported beside, in both orders:", ", ".join(present) or "nothing is installed")


def main() -> None:
    python, wheel = sys.argv[1], Path(sys.argv[2]).resolve()
    if wheel.stat().st_size > LARGEST_BYTES:
        sys.exit(f"check_wheel: {wheel.name} has {wheel.stat().st_size} bytes, at most {LARGEST_BYTES}")
    with tempfile.TemporaryDirectory() as folder:
        check_symbols(wheel, folder)
        check_fresh(python, wheel, folder)
        version = run([python, "-c", "import sys; print(sys.version_info[:2] == " + str(sys.version_info[:2]) + ")"])
        if "True" in version:
            check_beside(wheel, folder)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
