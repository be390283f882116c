#!/usr/bin/env python3
"""Gradients of attention on one GPU: ours in a free and in a fixed order beside cuDNN, FlashAttention 2 and 4 and FlexAttention
on Triton and on its FLASH backend, interleaved in one process a problem.

usage: backward_peers.py --library build/lib/libtilewright.so --json FILE [--tables square,mods,fp16,heads] [--peers a,b] [--workers N]

Rows of FILE: problem, implementation, median and quartiles in ms, TFLOP/s (2.5 times the forward's operations on exact live pairs),
ratio to the best peer, largest difference from the first peer's gradients relative to their largest, machine, versions, command.
Kernels are compiled by several worker processes at once; a lock lets one at a time measure.
"""
import fcntl
import pathlib
import sys

import torch
import torch._functorch.config

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import attention_gradients
import c_abi
import interleaved
from attention_problems import Problem, Shape

ALL_PEERS = "cudnn,flash-attention-2,flash-attention-4,flex-triton,flex-flash"
FORWARDS = 2.5  # five products for two
MODS = ("window", "prefix", "documents", "alibi", "softcap", "relative")


def square_table():
    return [Shape(v, e, e, rows) for rows in (8192, 4096, 16384, 1024) for e in (128, 64, 256) for v in ("full", "causal")]


def mods_table():
    """Every variant at 8k, the relative table without and with its own gradient."""
    found = [Shape(v, e, e, 8192) for e in (128, 64, 256) for v in MODS]
    return found + [Shape("relative", e, e, 8192, table_gradient=True) for e in (128, 64, 256)]


def fp16_table():
    return [Shape(v, 128, 128, 8192, dtype="float16") for v in ("full", "causal", *MODS)]


def heads_table():
    """64 query heads on one key head, and on 64, which is as much work."""
    return [Shape(v, 128, 128, 4096, query_heads=64, kv_heads=kv) for v in ("full", "causal") for kv in (64, 1)]


TABLES = {"square": square_table, "mods": mods_table, "fp16": fp16_table, "heads": heads_table}


def wanted_peers(shape, names):
    """FlexAttention compiles for seconds: where plain attention has better peers, at one length only."""
    plain = shape.variant in ("full", "causal")
    kept = set(names)
    if plain and (shape.rows != 8192 or shape.e != 128 or shape.dtype != "bfloat16"):
        kept -= {"flex-triton", "flex-flash"}
    return kept


def relative_difference(gradients, reference):
    """Of each gradient, by the largest number in the reference's."""
    worst = 0.0
    for ours, theirs in zip(gradients, reference):
        theirs = theirs.float()
        worst = max(worst, float((ours.float() - theirs).abs().max() / theirs.abs().max()))
    return worst


def measure(engine, shape, names, lock):
    problem = Problem(shape)
    calls, reasons = interleaved.prepared(attention_gradients.makers(engine, problem, wanted_peers(shape, names)))
    for name, why in reasons.items():
        print(f"  {shape}: no {name}: {why}", flush=True)
    fcntl.flock(lock, fcntl.LOCK_EX)
    times = interleaved.quartiles(calls)
    answers = {name: [gradient.detach().clone() for gradient in call()] for name, call in calls.items()}
    fcntl.flock(lock, fcntl.LOCK_UN)
    peers = [name for name in times if not name.startswith("tilewright")]
    flops = FORWARDS * problem.flops()
    best = max((flops / times[name][0] for name in peers), default=0)
    reference = answers[peers[0]] if peers else answers["tilewright"]
    for name, (median, low, high) in times.items():
        rate = flops / median
        yield dict(kind="backward", variant=shape.variant, e=shape.e, ev=shape.ev, b=shape.batches, h=shape.heads,
                   kv_heads=shape.key_heads, rows=shape.rows, dtype=shape.dtype, table_gradient=shape.table_gradient, impl=name,
                   ms=round(median, 5), ms_q1=round(low, 5), ms_q3=round(high, 5), tflops=round(rate / 1e9, 1),
                   over_best_peer=round(rate / best, 3) if best else None,
                   max_relative_difference=relative_difference(answers[name], reference))


def printed(line):
    table = "+table" if line["table_gradient"] else ""
    print(f"{line['variant'] + table:15s} {line['dtype']:8s} {line['e']}/{line['ev']} {line['h']}:{line['kv_heads']} "
          f"{line['rows']:6d} {line['impl']:24s} {line['ms']:9.4f} ms {line['tflops']:7.1f} TF x{line['over_best_peer'] or 0:.3f} "
          f"diff {line['max_relative_difference']:.4f}", flush=True)


def work(arguments):
    torch._functorch.config.donated_buffer = False  # compiled peers run their backward many times
    peers = arguments.peers.split(",")
    shapes = [shape for table in arguments.tables.split(",") for shape in TABLES[table]()]
    interleaved.record(arguments, shapes, lambda shape, lock: measure(c_abi.Engine(arguments.library), shape, peers, lock), printed)


if __name__ == "__main__":
    interleaved.run(__file__, TABLES, ALL_PEERS, work)
