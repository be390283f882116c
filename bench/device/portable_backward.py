#!/usr/bin/env python3
"""Checks variants of the portable backward family against fp64 and times them beside PyTorch's FlashAttention-2, interleaved in one process.

usage: portable_backward.py FOLDER TASK[,...] VARIANT[@waves]...     (FOLDER holds the cubins of build_portable_backward.py)
Tasks: check (problems, strides), lists, far (addresses past 2^32 elements), repeat (bits of
fixed-order variants), t<rows> (timing, 16k tokens in all), g<group> (t8192 with key heads shared), once (for a profiler), small (for a
sanitizer). Prints a table; with OUT set also writes $OUT/portable_backward.jsonl.
"""
import itertools
import json
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forward import HEADS, TOKENS, gemm, timed
from portable_backward_driver import PortableBackwardKernel
from portable_cases import CASES, NAN, Buffer, forms, fresh, random_lists
from portable_driver import Lists
from portable_gradient_problems import Problem, dims
from problems import Mods

CASES = CASES + [(1, 1, 7, 1, 130, 200), (2, 2, 40, 40, 64, 130)]
NAMES = ("dq", "dk", "dv")
SQUARE_ONLY = ("documents",)


def run(kernel, problem, way, parts=1, lists=None, tile_rows=None):
    """Gradients by the kernel, launched twice on poisoned memory, and whether nothing around them was touched."""
    d_out = problem.d_out
    if "copy" in kernel.options or "gradf" in kernel.options:  # any strides, and rows that see nothing may hold anything
        kind = torch.float32 if "gradf" in kernel.options else kernel.element
        d_out = Buffer(d_out.shape, kind, "odd").fill(d_out.masked_fill(problem.lse.isinf().unsqueeze(-1), NAN))
    made = [Buffer(x.shape, kernel.element, w) if want else None
            for x, w, want in zip((problem.q, problem.k, problem.v), (way[3], way[0], way[3]),
                                  kernel.tiles.wanted)]
    launch = kernel.prepare(problem.q, problem.k, problem.v, problem.out, d_out, problem.lse, [m.view if m else None for m in made],
                            problem.mods.bindings, problem.d_lse, parts, lists=lists, tile_rows=tile_rows)
    launch()
    launch()
    torch.cuda.synchronize()
    clean = all(m is None or m.untouched_outside() for m in made) and int(kernel.counters.abs().sum()) == 0
    return [m.view if m else None for m in made], clean


class Worst:
    def __init__(self):
        self.fractions, self.clean, self.where = [[0.0, 0.0] for _ in NAMES], True, None

    def add(self, found, clean, where):
        self.clean = self.clean and clean
        bad = not clean
        for m, f in itertools.product(range(3), range(2)):
            bad = bad or not found[m][f] <= 1
            if not found[m][f] <= self.fractions[m][f]:
                self.fractions[m][f] = found[m][f]
        if bad and self.where is None:
            self.where = where

    def report(self, kind, kernel, log):
        good = self.clean and all(f <= 1 for w in self.fractions for f in w)
        log(dict(kind=kind, impl=kernel.name, fractions=self.fractions, clean=self.clean, first_bad=self.where))
        text = " ".join(f"{NAMES[m]} {self.fractions[m][0]:.3f}/{self.fractions[m][1]:.3f}" for m in range(3))
        print(f"{kind} {kernel.name:56s} {'ok  ' if good else 'BAD '} {text} {'' if self.clean else 'NOT CLEAN'} "
              f"{'' if self.where is None else f'first bad {self.where}'}", flush=True)


def check(kernel, seed, log):
    worst = Worst()
    ways = forms(kernel.copy_bytes, kernel.element)
    for n, shape in enumerate(CASES):
        if kernel.mods in SQUARE_ONLY and (shape[4] != shape[5] or shape[4] < 4):
            continue
        way = ways[n % len(ways)]
        problem = Problem(kernel, shape, dims(kernel, n), way, seed + 10 * n, dict(large=n % 2 == 1, d_lse=n % 3 == 1))
        parts = min(1 + n % 3, shape[2] // shape[3] * (shape[0] if shape[1] == 1 else 1))
        made, clean = run(kernel, problem, way, parts=parts)
        found, zeros = problem.judge(made)
        worst.add(found, clean and zeros, n)
    worst.report("check", kernel, log)


def check_lists(kernel, seed, log):
    """Random span lists, also together with mask_mod; blocks of 96, 256 and 8 query rows; per head and for all heads."""
    worst = Worst()
    for n, (rows, kv, q_block, heads) in enumerate([(700, 900, 96, 4), (513, 3000, 256, 1), (40, 5000, 8, 4)]):
        lists, full, listed = random_lists(rows, kv, heads, q_block, seed + n)
        mods = Mods(kernel.mods, 4, rows, kv)
        by_mask = mods.keep
        mods.keep = lambda i, j: listed & (full | by_mask(i, j)) if by_mask else listed
        way = forms(kernel.copy_bytes, kernel.element)[0]
        problem = Problem(kernel, (1, 1, 4, 2, rows, kv), (kernel.e, kernel.v), way, seed + 10 * n,
                          dict(large=False, d_lse=True, mods=mods))
        tile_rows = max(r for r in range(1, kernel.tiles.query_tile + 1) if q_block % r == 0)
        made, clean = run(kernel, problem, way, lists=Lists(lists, 1, heads, q_block), tile_rows=tile_rows)
        found, zeros = problem.judge(made)
        worst.add(found, clean and zeros, n)
    worst.report("lists", kernel, log)


def check_far(kernel, seed, log):
    """Rows of one head spread over more than 2^32 elements."""
    rows, kv, far = 130, 150, 1 << 25
    way = ("rows",) * 4
    problem = Problem(kernel, (1, 1, 1, 1, rows, kv), (kernel.e, kernel.v), way, seed, dict(large=False, d_lse=False))
    spread = torch.empty(kv * far, device="cuda", dtype=kernel.element)
    view = lambda place, like: torch.as_strided(spread, like.shape, (0, 0, far, 1), 1024 * place)
    moved = [view(n, t).copy_(t) for n, t in enumerate((problem.q, problem.k, problem.v, problem.out, problem.d_out))]
    made = [view(5 + n, t).fill_(NAN) for n, t in enumerate((problem.q, problem.k, problem.v))]
    q, k, v, out, d_out = moved
    kernel.prepare(q, k, v, out, d_out, problem.lse, made, problem.mods.bindings)()
    torch.cuda.synchronize()
    worst = Worst()
    worst.add(*problem.judge([m.contiguous() for m in made]), "far")
    worst.report("far", kernel, log)


def operands(kernel, b, hq, hkv, rows):
    """Inputs of a timing with plausible out and lse (the work is the same)."""
    t, dtype = kernel.tiles, kernel.element
    q, k, v = fresh((b, hq, rows, t.e), dtype, 1), fresh((b, hkv, rows, t.e), dtype, 2), fresh((b, hkv, rows, t.v), dtype, 3)
    d_out, out = fresh((b, hq, rows, t.v), dtype, 4), fresh((b, hq, rows, t.v), dtype, 5)
    return q, k, v, out, d_out, torch.full((b, hq, rows), math.log(rows) + 0.5, device="cuda")


def repeat(kernel, log):
    b, h, rows = 1, 4, 4096 + 40
    mods = Mods(kernel.mods, h, rows, rows)
    q, k, v, out, d_out, lse = operands(kernel, b, h, h, rows)
    grads = [torch.full_like(x, NAN) for x in (q, k, v)]
    launch = kernel.prepare(q, k, v, out, d_out, lse, grads, mods.bindings)
    launch()
    first, same = [g.clone() for g in grads], 0
    for _ in range(50):
        launch()
        same += all(torch.equal(a, b) for a, b in zip(first, grads))
    log(dict(kind="repeat", impl=kernel.name, equal=same, runs=50))
    print(f"repeat {kernel.name}: {same} of 50 runs give the bits of the first", flush=True)


def peer_of(q, k, v, d_out, causal):
    """PyTorch's backward: FlashAttention-2, for fp32 the memory-efficient kernel (keys copied for every query head, not timed)."""
    if q.dtype == torch.float32:
        name, backend = "efficient", SDPBackend.EFFICIENT_ATTENTION
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    else:
        name, backend = "flash2", SDPBackend.FLASH_ATTENTION
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(backend):
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=leaves[0].shape[1] != leaves[1].shape[1])
    return name, lambda: torch.autograd.grad(out, leaves, d_out, retain_graph=True)


def time_shape(kernels, shape, causal, log, repeats=15):
    b, hq, hkv, rows = shape
    t = kernels[0].tiles
    launches, pairs, keep = {}, {}, []
    for kernel in kernels:
        mods = Mods(kernel.mods, hq, rows, rows)
        q, k, v, out, d_out, lse = operands(kernel, b, hq, hkv, rows)
        grads = [torch.empty_like(x) if want else None for x, want in zip((q, k, v), kernel.tiles.wanted)]
        launches[kernel.name] = kernel.prepare(q, k, v, out, d_out, lse, grads, mods.bindings)
        pairs[kernel.name] = mods.live_pairs(rows, rows)
        keep.append((mods, grads))
    peer, peer_run = peer_of(q, k, v, d_out, causal)
    # Alone, the main kernel of a fixed order would wait for turn words that the one before it has not cleared.
    alone = timed({n: l.main for n, l in launches.items() if "_det" not in n}, 5)
    launches[peer] = peer_run
    pairs[peer] = rows * (rows + 1) // 2 if causal else rows * rows
    times = timed(launches, repeats)
    rate = lambda n: 2.5 * 2 * b * hq * pairs[n] * (t.e + t.v) / times[n][0] / 1e9
    for n, (median, low, high) in times.items():
        main = alone[n][0] if n in alone else None
        log(dict(kind="backward", e=t.e, ev=t.v, b=b, h=hq, hkv=hkv, rows=rows, causal_peer=causal, impl=n, peer=peer, ms=median,
                 ms_q1=low, ms_q3=high, main_ms=main, tflops=rate(n), over_peer=rate(n) / rate(peer)))
        print(f"{t.e}/{t.v} {str(kernels[0].element)[6:]:8s} {rows:6d} g{hq // hkv} {'c' if causal else 'f'} {n:48s} {median:8.4f} ms "
              f"{'' if main is None else f'main {main:8.4f}'} {rate(n):7.1f} TF  x{rate(n) / rate(peer):.3f}  "
              f"+-{(high - low) / median * 50:.1f}%", flush=True)


def time_lengths(kernels, rows, group, log):
    for causal in (False, True):
        for key in sorted({(k.e, k.v, str(k.element)) for k in kernels}):
            mine = [k for k in kernels if (k.e, k.v, str(k.element)) == key and (k.mods not in ("none", "relative")) == causal]
            if mine:
                tokens = TOKENS // 4 if mine[0].element == torch.float32 else TOKENS
                heads = HEADS.get(key[0], 16)
                time_shape(mine, (max(1, tokens // rows), heads, heads // group, rows), causal, log)


def launch_once(kernels, rows=8192):
    for kernel in kernels:
        heads = HEADS.get(kernel.e, 16)
        q, k, v, out, d_out, lse = operands(kernel, 2, heads, heads, rows)
        grads = [torch.empty_like(x) if want else None for x, want in zip((q, k, v), kernel.tiles.wanted)]
        launch = kernel.prepare(q, k, v, out, d_out, lse, grads, Mods(kernel.mods, heads, rows, rows).bindings)
        launch(), launch()
        torch.cuda.synchronize()


def small(kernel):
    for n, shape in enumerate([(1, 1, 2, 1, 150, 130), (1, 1, 1, 1, 7, 400)]):
        way = forms(kernel.copy_bytes, kernel.element)[0]
        problem = Problem(kernel, shape, dims(kernel, n), way, 900 + n, dict(large=False, d_lse=True))
        run(kernel, problem, way)


def main():
    folder, tasks, names = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    record = open(os.path.join(os.environ["OUT"], "portable_backward.jsonl"), "a") if "OUT" in os.environ else None

    def log(line):
        if record is not None:
            record.write(json.dumps(line) + "\n")
            record.flush()

    log(dict(kind="env", torch=torch.__version__, gpu=torch.cuda.get_device_name(), command=" ".join(sys.argv)))
    kernels = [PortableBackwardKernel(folder, n) for n in names]
    for kernel in kernels:
        aligned = kernel.copy_bytes == 16 and all(kernel.tiles.wanted)
        if "check" in tasks:
            check(kernel, 100, log)
        # Full spans skip the causal mask: ALiBi then makes scores of thousands, which an lse in fp32 cannot hold.
        if "lists" in tasks and aligned and kernel.mods != "alibi":
            check_lists(kernel, 500, log)
        if "far" in tasks and aligned:
            check_far(kernel, 700, log)
        if "repeat" in tasks and "det" in kernel.options:
            repeat(kernel, log)
        if "small" in tasks:
            small(kernel)
    if "once" in tasks:
        launch_once(kernels)
    lengths = [(int(t[1:]), 1) for t in tasks if t[0] == "t" and t[1:].isdigit()]
    lengths += [(8192, int(t[1:])) for t in tasks if t[0] == "g" and t[1:].isdigit()]
    if lengths:
        gemm(log)
    for rows, group in lengths:
        time_lengths(kernels, rows, group, log)


if __name__ == "__main__":
    main()
