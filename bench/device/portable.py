#!/usr/bin/env python3
"""Checks variants of the portable family against fp64 and times them beside PyTorch's FlashAttention-2, interleaved in one process.

usage: portable.py FOLDER TASK[,...] VARIANT...     (FOLDER holds the cubins of build_portable.py)
Tasks: check (problems, strides), lists, splits, far (addresses past 2^31 elements), t<rows> (timing, 16k tokens in all), once (two
launches of each on 8k rows, for a profiler), small (two small problems, for a sanitizer).
Prints a table; with OUT set also writes $OUT/portable.jsonl.
"""
import json
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forward import HEADS, TOKENS, gemm, timed
from portable_cases import CASES, NAN, Buffer, dims, forms, fresh, random_lists
from portable_driver import Lists, Merge, PortableKernel
from problems import Mods, judge, max_scores_fraction

SQUARE_ONLY = ("documents",)
INFINITE = float("inf")


def bindings_for(kernel, heads, rows, kv):
    return Mods(kernel.mods, heads, rows, kv)


def one_case(kernel, n, seed, splits=1, merge=None):
    b, bk, hq, hkv, rows, kv = CASES[n]
    e, ev = dims(kernel, n)
    ways = forms(kernel.copy_bytes, kernel.element)
    way = ways[n % len(ways)]
    shapes = [(b, hq, rows, e), (bk, hkv, kv, e), (bk, hkv, kv, ev)]
    size = 6 if n % 2 else 1
    q, k, v = (Buffer(s, kernel.element, w).fill(fresh(s, kernel.element, seed + 3 * n + m) * (size if m == 0 else 1))
               for m, (s, w) in enumerate(zip(shapes, way)))
    mods = bindings_for(kernel, hq, rows, kv)
    stats = [Buffer((b, hq, rows, 1), torch.float32, "odd") for _ in range(2)]
    lse, top = (s.view[:, :, :, 0] for s in stats)
    out_type = torch.float32 if "part" in kernel.options else kernel.element
    out = Buffer((b, hq, rows, ev), kernel.element if merge else out_type, way[3])
    scale = -0.11 if "scale" in kernel.options else 1 / math.sqrt(e)
    tracked = top if "max" in kernel.options else None
    if merge is None:
        runs = [kernel.prepare(q, k, v, out.view, lse, tracked, mods.bindings, scale)]
    else:
        parts = torch.full((splits, b, hq, rows, ev), NAN, device="cuda")
        lse_parts = torch.full((splits, b, hq, rows), NAN, device="cuda")
        max_parts = torch.full_like(lse_parts, NAN) if tracked is not None else None
        runs = [kernel.prepare(q, k, v, parts, lse_parts, max_parts, mods.bindings, scale, splits=splits),
                merge.prepare(parts, lse_parts, max_parts, out.view, lse, tracked)]
    for run in runs + runs:
        run()
    torch.cuda.synchronize()
    found = judge(out.view.to(kernel.element), lse, q, k, v, mods, scale, tf32="tf32" in kernel.options)
    if tracked is not None:
        found[2] = max(found[2], max_scores_fraction(top, q, k, v, mods, scale) / (100 if "tf32" in kernel.options else 1))
    clean = out.untouched_outside() and stats[0].untouched_outside()
    if not clean:
        found[0] = INFINITE
    return found


def worst_of(kernel, cases, run):
    worst, where = [0.0, 0.0, 0.0], [None] * 3
    for n in cases:
        found = run(n)
        for m in range(3):
            if not (found[m] <= worst[m]):
                worst[m], where[m] = found[m], n
    return worst, where


def report(kind, kernel, worst, where, log):
    good = all(w <= 1.0 for w in worst)
    log(dict(kind=kind, impl=kernel.name, fractions=worst, cases=where))
    print(f"{kind} {kernel.name:50s} {'ok  ' if good else 'BAD '} max {worst[0]:.3f} mean {worst[1]:.3f} lse {worst[2]:.3f} "
          f"cases {where}", flush=True)


def usable(kernel, n):
    b, bk, hq, hkv, rows, kv = CASES[n]
    return kernel.mods not in SQUARE_ONLY or (rows == kv and rows >= 4)


def check_lists(kernel, seed):
    """Random span lists, also together with mask_mod; blocks of 96 and 256 query rows; per head and for all heads."""
    worst = [0.0, 0.0, 0.0]
    for n, (rows, kv, q_block, heads) in enumerate([(700, 900, 96, 2), (513, 3000, 256, 1), (40, 5000, 8, 2)]):
        hq, ev = 2, kernel.v
        q, k, v = (fresh(s, kernel.element, seed + m) for m, s in enumerate([(1, hq, rows, kernel.e), (1, hq, kv, kernel.e),
                                                                            (1, hq, kv, ev)]))
        lists, full, listed = random_lists(rows, kv, heads, q_block, seed + n)
        mods = bindings_for(kernel, hq, rows, kv)
        by_mask = mods.keep
        mods.keep = lambda i, j: listed & (full | by_mask(i, j)) if by_mask else listed
        out = torch.full((1, hq, rows, ev), NAN, device="cuda", dtype=kernel.element)
        lse = torch.full((1, hq, rows), NAN, device="cuda")
        scale = 1 / math.sqrt(kernel.e)
        item_rows = max(r for r in range(1, kernel.q_rows + 1) if q_block % r == 0)
        kernel.prepare(q, k, v, out, lse, None, mods.bindings, scale, lists=Lists(lists, 1, heads, q_block), item_rows=item_rows)()
        torch.cuda.synchronize()
        found = judge(out, lse, q, k, v, mods, scale)
        worst = [max(a, b) if a == a and b == b else NAN for a, b in zip(worst, found)]
    return worst


def check_far(kernel, seed):
    """Rows of one head spread over more than 2^32 elements."""
    rows, kv, far = 130, 150, 1 << 25
    spread = torch.empty(kv * far, device="cuda", dtype=kernel.element)
    view = lambda offset, n, d: torch.as_strided(spread, (1, 1, n, d), (0, 0, far, 1), offset)
    offsets = [0, 1024, 2048, 3072]
    q, k, v, out = (view(o, n, d) for o, n, d in zip(offsets, (rows, kv, kv, rows), (kernel.e, kernel.e, kernel.v, kernel.v)))
    for m, t in enumerate((q, k, v)):
        t.copy_(fresh(t.shape, kernel.element, seed + m))
    out.fill_(NAN)
    lse = torch.full((1, 1, rows), NAN, device="cuda")
    mods = bindings_for(kernel, 1, rows, kv)
    scale = 1 / math.sqrt(kernel.e)
    kernel.prepare(q, k, v, out, lse, None, mods.bindings, scale)()
    torch.cuda.synchronize()
    return judge(out.contiguous(), lse, q.contiguous(), k.contiguous(), v.contiguous(), mods, scale, tf32="tf32" in kernel.options)


def peer_of(kernels, q, k, v, causal):
    backend = SDPBackend.EFFICIENT_ATTENTION if q.dtype == torch.float32 else SDPBackend.FLASH_ATTENTION

    def run():
        with sdpa_kernel(backend), torch.no_grad():
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])

    return ("efficient" if q.dtype == torch.float32 else "flash2"), run


def time_shape(kernels, shape, causal, log, repeats=15):
    b, hq, hkv, rows, kv = shape
    e, ev, dtype = kernels[0].e, kernels[0].v, kernels[0].element
    q, k, v = fresh((b, hq, rows, e), dtype, 1), fresh((b, hkv, kv, e), dtype, 2), fresh((b, hkv, kv, ev), dtype, 3)
    lse = torch.empty((b, hq, rows), device="cuda")
    launches, pairs, keep = {}, {}, []
    for kernel in kernels:
        mods = bindings_for(kernel, hq, rows, kv)
        out = torch.empty((b, hq, rows, ev), device="cuda", dtype=dtype)
        launches[kernel.name] = kernel.prepare(q, k, v, out, lse, lse, mods.bindings)
        pairs[kernel.name] = mods.live_pairs(rows, kv)
        keep += [mods, out]
    peer, run = peer_of(kernels, q, k, v, causal)
    launches[peer] = run
    pairs[peer] = rows * (rows + 1) // 2 if causal else rows * kv
    times = timed(launches, repeats)
    rate = lambda n: 2 * b * hq * pairs[n] * (e + ev) / times[n][0] / 1e9
    for n, (median, low, high) in times.items():
        log(dict(kind="forward", e=e, ev=ev, b=b, h=hq, hkv=hkv, rows=rows, kv=kv, causal_peer=causal, impl=n, peer=peer, ms=median,
                 ms_q1=low, ms_q3=high, tflops=rate(n), over_peer=rate(n) / rate(peer)))
        print(f"{e}/{ev} {str(dtype)[6:]:8s} {rows:6d}x{kv:<6d} {'c' if causal else 'f'} {n:46s} {median:8.4f} ms {rate(n):7.1f} TF  "
              f"x{rate(n) / rate(peer):.3f}  +-{(high - low) / median * 50:.1f}%", flush=True)


def time_lengths(kernels, rows, log):
    for causal in (False, True):
        for key in sorted({(k.e, k.v, str(k.element)) for k in kernels}):
            mine = [k for k in kernels if (k.e, k.v, str(k.element)) == key and (k.mods not in ("none", "relative")) == causal]
            if mine:
                tokens = TOKENS // 4 if mine[0].element == torch.float32 else TOKENS
                heads = HEADS.get(key[0], 16)
                time_shape(mine, (max(1, tokens // rows), heads, heads, rows, rows), causal, log)


def launch_once(kernels, rows=8192):
    for kernel in kernels:
        heads = HEADS.get(kernel.e, 16)
        q, k = (fresh((2, heads, rows, kernel.e), kernel.element, n) for n in (1, 2))
        v = fresh((2, heads, rows, kernel.v), kernel.element, 3)
        out, lse = torch.empty_like(v), torch.empty((2, heads, rows), device="cuda")
        run = kernel.prepare(q, k, v, out, lse, lse, bindings_for(kernel, heads, rows, rows).bindings)
        run(), run()
        torch.cuda.synchronize()


def main():
    folder, tasks, names = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    path = os.path.join(os.environ.get("OUT", "."), "portable.jsonl")
    record = open(path, "a") if "OUT" in os.environ else None

    def log(line):
        if record is not None:
            record.write(json.dumps(line) + "\n")
            record.flush()

    log(dict(kind="env", torch=torch.__version__, gpu=torch.cuda.get_device_name(), command=" ".join(sys.argv)))
    kernels = [PortableKernel(folder, n) for n in names if not n.startswith("merge")]
    merges = {n: Merge(folder, n) for n in names if n.startswith("merge")}
    suffix = {torch.bfloat16: "merge", torch.float16: "merge_f16", torch.float32: "merge_f32"}
    for kernel in kernels:
        cases = [n for n in range(len(CASES)) if usable(kernel, n)]
        if "check" in tasks and "lists" not in kernel.options:
            report("check", kernel, *worst_of(kernel, cases, lambda n: one_case(kernel, n, 100)), log)
        if "lists" in tasks and "lists" in kernel.options:
            report("lists", kernel, check_lists(kernel, 500), [None] * 3, log)
        if "far" in tasks and not {"part", "lists"} & set(kernel.options):
            report("far", kernel, check_far(kernel, 700), [None] * 3, log)
        if "splits" in tasks and "part" in kernel.options:
            merge = merges[suffix[kernel.element]]
            for splits in (1, 3, 7):
                report(f"splits{splits}", kernel,
                       *worst_of(kernel, cases, lambda n: one_case(kernel, n, 300, splits, merge)), log)
    if "small" in tasks:
        for kernel in kernels:
            one_case(kernel, 1, 900)
            one_case(kernel, 5, 901)
    if "once" in tasks:
        launch_once(kernels)
    lengths = [int(t[1:]) for t in tasks if t[0] == "t" and t[1:].isdigit()]
    if lengths:
        gemm(log)
    for rows in lengths:
        time_lengths(kernels, rows, log)


if __name__ == "__main__":
    main()
