#!/usr/bin/env python3
"""Checks forward variants against fp64 and times them beside cuDNN, interleaved in one process.

usage: forward.py FOLDER check|time[,...] VARIANT...      (run on a machine with a Hopper GPU; FOLDER holds the cubins)
Prints a table; with OUT set also writes $OUT/forward.jsonl.
"""
import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import Kernel
from problems import Mods, judge, max_scores_fraction

TOKENS = 16384
WARM_SECONDS = 0.3
HEADS = {64: 32, 128: 16, 256: 8}


def fresh(shape, dtype, seed):
    g = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, device="cuda", generator=g).to(dtype)


CHECKS = [  # B, Bkv, Hq, Hkv, Q, KV
    (1, 1, 1, 1, 64, 64), (1, 1, 2, 2, 128, 128), (2, 2, 3, 3, 300, 300), (1, 1, 4, 2, 257, 513), (2, 1, 6, 2, 1000, 777),
    (1, 1, 1, 1, 1, 1), (1, 1, 2, 1, 7, 2000), (3, 3, 8, 8, 1024, 1024), (1, 1, 5, 1, 2049, 2047),
    (2, 2, 330, 330, 64, 64),
]
SQUARE_ONLY = ("documents", "emit-documents")


def check(kernel, seed):
    worst, where = [0.0, 0.0, 0.0], None
    for n, (b, bk, hq, hkv, rows, kv) in enumerate(CHECKS):
        if kernel.mods in SQUARE_ONLY and (rows != kv or rows < 4):
            continue
        q = fresh((b, hq, rows, kernel.e), kernel.element, seed + 3 * n) * (6 if n % 2 else 1)
        k = fresh((bk, kv, hkv, kernel.e), kernel.element, seed + 3 * n + 1).transpose(1, 2)
        v = fresh((bk, hkv, kv, kernel.v), kernel.element, seed + 3 * n + 2)
        out = torch.full((b, hq, rows + 1, kernel.v), float("nan"), device="cuda", dtype=kernel.element)
        lse = torch.full((b, hq, rows + 1), float("nan"), device="cuda")
        mods = Mods(kernel.mods, hq, rows, kv)
        top = torch.empty_like(lse)
        launch = kernel.prepare(q, k, v, out[:, :, :rows], lse[:, :, :rows], top[:, :, :rows], mods.bindings)
        for _ in range(2):
            launch()
        torch.cuda.synchronize()
        scale = 1 / math.sqrt(kernel.e)
        found = judge(out[:, :, :rows], lse[:, :, :rows], q, k, v, mods, scale)
        if "max" in kernel.options:
            found[2] = max(found[2], max_scores_fraction(top[:, :, :rows], q, k, v, mods, scale))
        if not (out[:, :, rows:].isnan().all() and lse[:, :, rows:].isnan().all()):
            found[0] = float("inf")
        if kernel.counters.abs().sum() != 0:
            found[0] = float("inf")
        for m in range(3):
            if not (found[m] <= worst[m]):
                worst[m], where = found[m], n
    return worst, where


def timed(launches, repeats):
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    events = {n: [] for n in launches}
    start = time.time()  # sustained load first: clocks settle where power lets them
    while time.time() - start < WARM_SECONDS:
        for f in launches.values():
            f(), f()
        torch.cuda.synchronize()
    for _ in range(repeats):
        for n, f in launches.items():
            flush.zero_()
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            f()
            b.record()
            events[n].append((a, b))
    torch.cuda.synchronize()
    result = {}
    for n, pairs in events.items():
        ms = sorted(a.elapsed_time(b) for a, b in pairs)
        result[n] = (ms[len(ms) // 2], ms[len(ms) // 4], ms[3 * len(ms) // 4])
    return result


def problem(e, v, rows, causal_peer, kernels):
    b, h = TOKENS // rows, HEADS.get(e, 16)
    dtype = kernels[0].element
    q, k = fresh((b, h, rows, e), dtype, 1), fresh((b, h, rows, e), dtype, 2)
    val = fresh((b, h, rows, v), dtype, 3)
    lse = torch.empty((b, h, rows), device="cuda")
    launches, pairs = {}, {}
    for kernel in kernels:
        mods = Mods(kernel.mods, h, rows, rows)
        out = torch.empty((b, h, rows, v), device="cuda", dtype=dtype)
        launches[kernel.name] = kernel.prepare(q, k, val, out, lse, lse, mods.bindings)
        launches[kernel.name].mods = mods
        pairs[kernel.name] = mods.live_pairs(rows, rows)

    def peer():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION), torch.no_grad():
            return F.scaled_dot_product_attention(q, k, val, is_causal=causal_peer)

    launches["cudnn"] = peer
    pairs["cudnn"] = rows * (rows + 1) // 2 if causal_peer else rows * rows
    return launches, pairs, b, h


def time_shape(e, v, rows, causal_peer, kernels, repeats, log):
    launches, pairs, b, h = problem(e, v, rows, causal_peer, kernels)
    times = timed(launches, repeats)
    rate = lambda n: 2 * b * h * pairs[n] * (e + v) / times[n][0] / 1e9
    for n, (median, low, high) in times.items():
        line = dict(kind="forward", e=e, ev=v, b=b, h=h, rows=rows, causal_peer=causal_peer, impl=n, ms=median, ms_q1=low,
                    ms_q3=high, tflops=rate(n), over_cudnn=rate(n) / rate("cudnn"))
        log(line)
        print(f"{e}/{v} {rows:6d} {'c' if causal_peer else 'f'} {n:42s} {median:8.4f} ms {rate(n):7.1f} TF  x{rate(n) / rate('cudnn'):.3f}"
              f"  +-{(high - low) / median * 50:.1f}%", flush=True)


def sustained(e, v, rows, causal_peer, kernels, log, seconds=0.35):
    """Each implementation alone, back to back until power settles, with the clock and the power it settles at."""
    import pynvml

    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    launches, pairs, b, h = problem(e, v, rows, causal_peer, kernels)
    for n, f in launches.items():
        f()
        torch.cuda.synchronize()
        start, count, clocks, watts = time.time(), 0, [], []
        while time.time() - start < 2 * seconds:
            if count == 0 and time.time() - start > seconds:
                begin = torch.cuda.Event(enable_timing=True)
                begin.record()
                count = 1
            for _ in range(8):
                f()
                count += 1 if count else 0
            if count:
                clocks.append(pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM))
                watts.append(pynvml.nvmlDeviceGetPowerUsage(device) / 1000)
            torch.cuda.current_stream().synchronize()
        end = torch.cuda.Event(enable_timing=True)
        end.record()
        torch.cuda.synchronize()
        ms = begin.elapsed_time(end) / (count - 1)
        rate = 2 * b * h * pairs[n] * (e + v) / ms / 1e9
        clock = sum(clocks) / len(clocks)
        busy = rate / (132 * 4096 * clock * 1e-6)
        log(dict(kind="sustained", e=e, ev=v, rows=rows, causal_peer=causal_peer, impl=n, ms=ms, tflops=rate, sm_mhz=clock,
                 watts=sum(watts) / len(watts), of_peak_at_clock=busy))
        print(f"sustained {e}/{v} {rows} {'c' if causal_peer else 'f'} {n:40s} {rate:7.1f} TF  {clock:5.0f} MHz {sum(watts) / len(watts):4.0f} W "
              f"{100 * busy:5.1f}% of peak at that clock", flush=True)


def gemm(log):
    a, b = fresh((8192, 8192), torch.bfloat16, 5), fresh((8192, 8192), torch.bfloat16, 6)
    t = timed({"gemm": lambda: a @ b}, 15)["gemm"][0]
    log(dict(kind="ceiling", what="bf16 gemm 8192", tflops=2 * 8192**3 / t / 1e9))
    print(f"gemm 8192: {2 * 8192**3 / t / 1e9:.0f} TF", flush=True)


def main():
    folder, tasks, names = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    path = os.path.join(os.environ.get("OUT", "."), "forward.jsonl")
    record = open(path, "a") if "OUT" in os.environ else None

    def log(line):
        if record is not None:
            record.write(json.dumps(line) + "\n")
            record.flush()

    log(dict(kind="env", torch=torch.__version__, gpu=torch.cuda.get_device_name(), cudnn=torch.backends.cudnn.version(),
             command=" ".join(sys.argv)))
    kernels = [Kernel(folder, n) for n in names]
    if "check" in tasks:
        for kernel in kernels:
            worst, where = check(kernel, 100)
            good = all(w <= 1.0 for w in worst)
            log(dict(kind="check", impl=kernel.name, fractions=worst, case=where))
            print(f"check {kernel.name:44s} {'ok  ' if good else 'BAD '} max {worst[0]:.3f} mean {worst[1]:.3f} lse {worst[2]:.3f} "
                  f"case {where}", flush=True)
    lengths = [int(t[1:]) for t in tasks if t[0] == "t" and t[1:].isdigit()]
    if lengths:
        gemm(log)
    for rows in lengths:
        for causal in (False, True):
            for dims in sorted({(k.e, k.v) for k in kernels}):
                mine = [k for k in kernels if (k.e, k.v) == dims and (k.mods.removeprefix("emit-") not in ("none", "relative")) == causal]
                if mine:
                    time_shape(*dims, rows, causal, mine, 21, log)
                    if "sustained" in tasks:
                        sustained(*dims, rows, causal, mine, log)
    if lengths:
        gemm(log)


if __name__ == "__main__":
    main()
