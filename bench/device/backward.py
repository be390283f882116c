#!/usr/bin/env python3
"""Checks backward variants against fp64 and times them beside cuDNN, interleaved in one process.

usage: backward.py FOLDER check|c<problem>|repeat|mqa<rows>|t<rows>[,...] VARIANT...      (run on a machine with a Hopper GPU; FOLDER holds the cubins)
`c<problem>` checks one of CHECKS; `repeat` runs deterministic variants 100 times and compares bits; `mqa` times 64 query heads on one key head
beside 64 on 64. Prints a table; with OUT set also writes $OUT/backward.jsonl.
"""
import functools
import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from backward_driver import BackwardKernel
from forward import HEADS, TOKENS, fresh, gemm, timed
from gradient_problems import dense_gradients, fractions, seen_rows_and_keys
from problems import Mods

CHECKS = [  # B, Bkv, Hq, Hkv, Q, KV
    (1, 1, 1, 1, 64, 64), (1, 1, 1, 1, 128, 128), (1, 1, 2, 2, 512, 512), (2, 2, 3, 3, 300, 300), (1, 1, 4, 2, 257, 513),
    (2, 1, 6, 2, 1000, 777), (1, 1, 1, 1, 1, 1), (1, 1, 2, 1, 7, 2000), (3, 3, 8, 8, 1024, 1024), (1, 1, 5, 1, 2049, 2047),
    (2, 2, 90, 90, 64, 130),
]
SQUARE_ONLY = ("documents",)
NAMES = ("dq", "dk", "dv")


class BoundMods:
    """The mods as one group of heads sees them."""

    def __init__(self, mods, first_head):
        self.score, self.keep, self.first_head = mods.score, mods.keep, first_head


def padded(shape, dtype):
    """A tensor whose heads end in a guard row, all NaN: (the tensor, its guard rows)."""
    whole = torch.full((*shape[:2], shape[2] + 1, shape[3]), float("nan"), device="cuda", dtype=dtype)
    return whole[:, :, : shape[2]], whole[:, :, shape[2] :]


class Problem:
    """Random operands of one check and what plain computations make of them."""

    def __init__(self, dims, mods, dtype, n, seed):
        b, bk, hq, hkv, rows, kv = CHECKS[n]
        e, v = dims
        self.q = fresh((b, hq, rows, e), dtype, seed) * (3 if n % 2 else 1)
        self.k = fresh((bk, kv, hkv, e), dtype, seed + 1).transpose(1, 2)
        self.v = fresh((bk, hkv, kv, v), dtype, seed + 2)
        self.d_out = fresh((b, rows, hq, v), dtype, seed + 3).transpose(1, 2)
        self.d_lse = fresh((b, hq, rows), torch.float32, seed + 4) if n % 2 else None
        self.mods = Mods(mods, hq, rows, kv)
        self.scale = 1 / math.sqrt(e)
        self.out = torch.empty((b, hq, rows, v), device="cuda", dtype=dtype)
        self.lse = torch.empty((b, hq, rows), device="cuda")
        self.exact = self.gradients(torch.float64, None, keep_forward=True)
        self.plain = self.gradients(torch.float32, dtype, keep_forward=False)

    def gradients(self, dtype, p_dtype, keep_forward):
        b, hq, rows, _ = self.q.shape
        bk, hkv, kv, _ = self.k.shape
        g = hq // hkv
        result = [torch.zeros(x.shape, device="cuda", dtype=dtype) for x in (self.q, self.k, self.v)]
        zeros = torch.zeros((b, hq, rows), device="cuda")
        for batch in range(b):
            for head in range(hkv):
                kb, heads = (0 if bk == 1 else batch), slice(head * g, head * g + g)
                out, lse, d_q, d_k, d_v = dense_gradients(
                    self.q[batch, heads], self.k[kb, head], self.v[kb, head], self.d_out[batch, heads],
                    (zeros if self.d_lse is None else self.d_lse)[batch, heads], BoundMods(self.mods, head * g), self.scale, dtype, p_dtype)
                if keep_forward:
                    self.out[batch, heads], self.lse[batch, heads] = out.to(self.out.dtype), lse.float()
                result[0][batch, heads] = d_q
                result[1][kb, head] += d_k
                result[2][kb, head] += d_v
        return result


def run_check(kernel, problem, parts):
    """Fractions of the bounds for every gradient, and whether guard rows and counters are untouched and exact zeros exact."""
    d_out = problem.d_out
    if "copyf32" in kernel.options:
        d_out = d_out.float()
    if "copy" in kernel.options or "copyf32" in kernel.options:  # rows that see nothing may hold anything
        d_out = d_out.masked_fill(problem.lse.isinf().unsqueeze(-1), float("nan"))
    shapes = [x.shape for x in (problem.q, problem.k, problem.v)]
    made = [padded(s, kernel.element) for s in shapes]
    launch = kernel.prepare(problem.q, problem.k, problem.v, problem.out, d_out, problem.lse, [m[0] for m in made],
                            problem.mods.bindings, problem.d_lse, parts)
    for _ in range(2):
        launch()
    torch.cuda.synchronize()
    d_probability = float(problem.d_out.float().abs().amax() * problem.v.float().abs().amax())
    terms = (d_probability * float(problem.k.float().abs().amax()) * problem.scale,
             d_probability * float(problem.q.float().abs().amax()) * problem.scale, 0.0)
    found = [fractions(made[n][0], problem.exact[n], problem.plain[n], terms[n]) for n in range(3)]
    clean = all(bool(m[1].isnan().all()) for m in made) and int(kernel.counters.abs().sum()) == 0
    rows, keys = seen_rows_and_keys(problem.mods, problem.q.shape[2], problem.k.shape[2])
    for n, seen in ((0, rows), (1, keys), (2, keys)):
        clean = clean and not bool(made[n][0][:, :, ~seen].any())
    return found, clean


@functools.lru_cache(maxsize=2)
def problem_of(dims, mods, element, n, seed):
    return Problem(dims, mods, element, n, seed)


def check(kernel, problems, seed, log):
    start = time.time()
    worst, where, clean, error = [[0.0, 0.0] for _ in NAMES], None, True, None
    for n in problems:
        b, bk, hq, hkv, rows, kv = CHECKS[n]
        if kernel.mods in SQUARE_ONLY and (rows != kv or rows < 4):
            continue
        parts = min(2, hq // hkv) if "part" in kernel.options else 1
        found, ok = run_check(kernel, problem_of((kernel.tiles.e, kernel.tiles.v), kernel.mods, kernel.element, n, seed + 10 * n), parts)
        log(dict(kind="check", impl=kernel.name, case=n, fractions=found, clean=ok))
        clean = clean and ok
        for m in range(3):
            for f in range(2):
                if not (found[m][f] <= worst[m][f]):
                    worst[m][f], where = found[m][f], (n if not (found[m][f] <= 1) and (where is None) else where)
    good = clean and all(f <= 1 for w in worst for f in w)
    text = " ".join(f"{NAMES[m]} {worst[m][0]:.3f}/{worst[m][1]:.3f}" for m in range(3))
    print(f"check {kernel.name:40s} {'ok  ' if good else 'BAD '} {text} {'' if clean else 'NOT CLEAN'} first bad case {where} "
          f"{time.time() - start:.1f} s", flush=True)


def operands(kernel, b, h, rows, key_heads=None):
    """Inputs of a timing; out is random and lse about right: the work is the same."""
    t, dtype = kernel.tiles, kernel.element
    keys = h if key_heads is None else key_heads
    q, k = fresh((b, h, rows, t.e), dtype, 1), fresh((b, keys, rows, t.e), dtype, 2)
    v, d_out = fresh((b, keys, rows, t.v), dtype, 3), fresh((b, h, rows, t.v), dtype, 4)
    out = fresh((b, h, rows, t.v), dtype, 5)
    lse = torch.full((b, h, rows), math.log(rows) + 0.5, device="cuda")
    return q, k, v, out, d_out, lse


def repeat(kernel, log):
    b, h, rows = 1, 4, 4096 + 40
    mods = Mods(kernel.mods, h, rows, rows)
    q, k, v, out, d_out, lse = operands(kernel, b, h, rows)
    grads = [torch.full_like(x, float("nan")) for x in (q, k, v)]
    launch = kernel.prepare(q, k, v, out, d_out, lse, grads, mods.bindings)
    launch()
    first, same = [g.clone() for g in grads], 0
    for _ in range(100):
        launch()
        same += all(torch.equal(a, b) for a, b in zip(first, grads))
    log(dict(kind="repeat", impl=kernel.name, equal=same, runs=100))
    print(f"repeat {kernel.name}: {same} of 100 runs give the bits of the first", flush=True)


def time_shared_keys(rows, kernels, log):
    """64 query heads on one key head beside 64 on 64, the same products; variants with `part` cut the heads of a key tile in parts."""
    b, h = max(1, TOKENS // rows // 4), 64
    launches, mods_of = {}, {}
    for kernel in kernels:
        mods_of[kernel.name] = mods = Mods(kernel.mods, h, rows, rows)
        for key_heads in (1, 64) if "part" not in kernel.options else (1,):
            q, k, v, out, d_out, lse = operands(kernel, b, h, rows, key_heads)
            grads = [torch.empty_like(x) for x in (q, k, v)]
            for parts in (2, 4, 8) if "part" in kernel.options else (1,):
                launches[f"{kernel.name} {key_heads} key heads {parts} parts"] = kernel.prepare(q, k, v, out, d_out, lse, grads,
                                                                                                mods.bindings, parts=parts)
    for name, (median, low, high) in timed(launches, 9).items():
        log(dict(kind="shared_keys", b=b, rows=rows, impl=name, ms=median, ms_q1=low, ms_q3=high))
        print(f"{rows} {name:60s} {median:8.4f} ms", flush=True)


def time_shape(rows, causal_peer, kernels, log):
    t = kernels[0].tiles
    b, h = TOKENS // rows, HEADS.get(t.e, 16)
    launches, pairs = {}, {}
    for kernel in kernels:
        mods = Mods(kernel.mods, h, rows, rows)
        q, k, v, out, d_out, lse = operands(kernel, b, h, rows)
        grads = [torch.empty_like(x) for x in (q, k, v)]
        launches[kernel.name] = kernel.prepare(q, k, v, out, d_out, lse, grads, mods.bindings)
        launches[kernel.name].mods = mods
        pairs[kernel.name] = mods.live_pairs(rows, rows)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        peer_out = F.scaled_dot_product_attention(*leaves, is_causal=causal_peer)
    launches["cudnn"] = lambda: torch.autograd.grad(peer_out, leaves, d_out, retain_graph=True)
    pairs["cudnn"] = rows * (rows + 1) // 2 if causal_peer else rows * rows
    parts = {}
    for name, launch in list(launches.items()):
        if name != "cudnn" and "_det" not in name:  # a fixed order waits for words that the preparation clears
            parts[name] = launch.main
            parts[f"{name} prepare"] = launch.first
            parts[f"{name} finish"] = launch.last[0]
    times = timed(launches, 15)
    alone = timed(parts, 7)
    rate = lambda n: 2.5 * 2 * b * h * pairs[n] * (t.e + t.v) / times[n][0] / 1e9
    for n, (median, low, high) in times.items():
        main = alone[n][0] if n in alone else None
        ends = [alone[f"{n} {x}"][0] if n in alone else None for x in ("prepare", "finish")]
        log(dict(kind="backward", e=t.e, ev=t.v, b=b, h=h, rows=rows, causal_peer=causal_peer, impl=n, ms=median, ms_q1=low, ms_q3=high,
                 main_ms=main, prepare_ms=ends[0], finish_ms=ends[1], tflops=rate(n), over_cudnn=rate(n) / rate("cudnn")))
        inside = f"main {main:8.4f} ends {ends[0]:.3f} {ends[1]:.3f}" if n in alone else ""
        print(f"{t.e}/{t.v} {rows:6d} {'c' if causal_peer else 'f'} {n:36s} {median:8.4f} ms {inside} {rate(n):7.1f} TF  "
              f"x{rate(n) / rate('cudnn'):.3f}  +-{(high - low) / median * 50:.1f}%", flush=True)


def main():
    folder, tasks, names = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    record = open(os.path.join(os.environ["OUT"], "backward.jsonl"), "a") if "OUT" in os.environ else None

    def log(line):
        if record is not None:
            record.write(json.dumps(line) + "\n")
            record.flush()

    log(dict(kind="env", torch=torch.__version__, gpu=torch.cuda.get_device_name(), cudnn=torch.backends.cudnn.version(),
             command=" ".join(sys.argv)))
    kernels = [BackwardKernel(folder, n) for n in names]
    problems = [int(x[1:]) for x in tasks if x[0] == "c" and x[1:].isdigit()]
    if problems or "check" in tasks:
        for kernel in kernels:
            check(kernel, problems or range(len(CHECKS)), 100, log)
    if "repeat" in tasks:
        for kernel in kernels:
            if "det" in kernel.options:
                repeat(kernel, log)
    for rows in (int(x[3:]) for x in tasks if x[:3] == "mqa"):
        time_shared_keys(rows, kernels, log)
    lengths = [int(x[1:]) for x in tasks if x[0] == "t" and x[1:].isdigit()]
    if lengths:
        gemm(log)
    for rows in lengths:
        for causal in (False, True):
            for dims in sorted({(k.tiles.e, k.tiles.v) for k in kernels}):
                mine = [k for k in kernels if (k.tiles.e, k.tiles.v) == dims and (k.mods not in ("none", "relative")) == causal]
                if mine:
                    time_shape(rows, causal, mine, log)


if __name__ == "__main__":
    main()
