#!/usr/bin/env python3
"""Forward attention on one Hopper GPU: ours beside cuDNN, FlashAttention 2 and 4, FlexAttention on Triton and on its FLASH
backend, and eager attention, interleaved in one process a problem.

usage: forward_peers.py --library build/lib/libtilewright.so --json FILE [--tables square,mods,fp16,heads] [--peers a,b]
       [--workers N]

Rows of FILE: problem, implementation, median and quartiles in ms, TFLOP/s on exact live pairs, ratio to the best peer, largest
difference from the first peer's answer, machine, versions, command. Kernels are compiled by several worker processes at once;
a lock lets one at a time measure.
"""
import ctypes
import fcntl
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import attention_peers
import c_abi
import interleaved
from attention_problems import Problem, Shape

ALL_PEERS = "cudnn,flash-attention-2,flash-attention-4,flex-triton,flex-flash,eager"


class Engine(c_abi.Engine):
    def run(self, program, inputs, outputs):
        self.check(self.library.tw_forward(self.engine, program, ctypes.byref(inputs), ctypes.byref(outputs), None))


VARIANTS = ("window", "prefix", "documents", "alibi", "softcap", "relative")
# The first problems of a table are the ones that a run that is cut short should have.
TABLES = {
    "mods": [Shape(v, e, e, 8192) for e in (128, 64, 256) for v in VARIANTS],
    "square": [Shape(v, e, e, rows) for rows in (8192, 1024, 4096, 16384) for e in (64, 128, 256) for v in ("full", "causal")]
    + [Shape("causal", 192, 128, 8192)],
    "fp16": [Shape(v, 128, 128, 8192, "float16") for v in ("full", "causal", *VARIANTS)],
    "heads": [Shape(v, 128, 128, 8192, kv_heads=heads) for heads in (4, 1) for v in ("causal", "documents")],
}


def wanted_peers(shape, names):
    """FlexAttention compiles for seconds: where plain attention has better peers, at one length only. Eager only where its
    scores fit and mods make it a peer."""
    plain = shape.variant in ("full", "causal")
    kept = set(names)
    if plain and (shape.rows != 8192 or shape.e != 128):
        kept -= {"flex-triton", "flex-flash", "eager"}
    if shape.e != 128:
        kept -= {"eager"}
    return kept


def measure(engines, shape, names, lock):
    problem = Problem(shape)
    with torch.no_grad():
        peers = attention_peers.peers(problem, wanted_peers(shape, names))
        mine = {name: lambda engine=engine: attention_peers.ours(engine, problem) for name, engine in engines.items()}
        calls, reasons = interleaved.prepared(mine | peers)
        for name, why in reasons.items():
            print(f"  {shape}: no {name}: {why}", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        times = interleaved.quartiles(calls)
        # Each writes a tensor of its own only if it is copied: some return the one they wrote before.
        answers = {name: call().float() for name, call in calls.items()}
        fcntl.flock(lock, fcntl.LOCK_UN)
    others = [name for name in times if name not in engines]
    first_peer = next(iter(others), "tilewright")
    best = max((problem.flops() / times[name][0] for name in others), default=0)
    for name, (median, low, high) in times.items():
        rate = problem.flops() / median
        yield dict(kind="forward", variant=shape.variant, e=shape.e, ev=shape.ev, b=shape.batches, h=shape.heads,
                   kv_heads=shape.key_heads, dtype=shape.dtype, rows=shape.rows, impl=name, ms=round(median, 5),
                   ms_q1=round(low, 5), ms_q3=round(high, 5),
                   tflops=round(rate / 1e9, 1), over_best_peer=round(rate / best, 3) if best else None,
                   max_difference=float((answers[name] - answers[first_peer]).abs().max()))


def printed(line):
    problem = f"{line['variant']:9s} {line['e']}/{line['ev']} {line['dtype']:8s} kv{line['kv_heads']:<2d} {line['rows']:6d}"
    print(f"{problem} {line['impl']:18s} {line['ms']:9.4f} ms {line['tflops']:7.1f} TF "
          f"x{line['over_best_peer'] or 0:.3f} diff {line['max_difference']:.4f}", flush=True)


def engines_for(shape, library):
    """New ones for each problem: an engine's first call of a program picks the row for short or for long lengths."""
    engines = {"tilewright": Engine(library)}
    if shape.variant == "softcap":
        engines["tilewright-fast"] = Engine(library, fast_functions=1)
    return engines


def work(arguments):
    peers = arguments.peers.split(",")
    shapes = [shape for table in arguments.tables.split(",") for shape in TABLES[table]]
    interleaved.record(arguments, shapes, lambda shape, lock: measure(engines_for(shape, arguments.library), shape, peers, lock),
                       printed)


if __name__ == "__main__":
    interleaved.run(__file__, TABLES, ALL_PEERS, work)
