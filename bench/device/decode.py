#!/usr/bin/env python3
"""Decode on the portable family: packed groups and split keys beside PyTorch's SDPA, one JSON line a problem and kernel.

usage: decode.py DIR VARIANT[,...] SPLIT_TOKENS[,...] [Q,...] [KV,...] [GROUP,...] [HEAD_DIM,...]
VARIANT as in build_portable.py with options pack and part; DIR also holds merge.cubin. Every call of a timed graph reads other
keys and values, at least 150 MB in all, so that none finds them in the L2 cache.
"""
import json
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from portable_driver import Merge, PortableKernel

KEY_HEADS = 8
COLD_BYTES = 150e6


def graph_of(calls):
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


def microseconds(graphs, calls, repeats=9):
    """Median time of a call for each graph, the graphs taking turns."""
    times = {name: [] for name in graphs}
    for _ in range(repeats):
        for name, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) * 1000 / calls)
    return {name: statistics.median(t) for name, t in times.items()}


class Problem:
    def __init__(self, q_rows, keys, group, dim):
        self.q_rows, self.keys, self.group, self.dim = q_rows, keys, group, dim
        self.kv_bytes = 2 * KEY_HEADS * keys * dim * 2
        self.sets = max(2, min(12, round(COLD_BYTES / self.kv_bytes)))
        make = lambda heads, rows: torch.randn(1, heads, rows, dim, device="cuda", dtype=torch.bfloat16)
        self.query = make(KEY_HEADS * group, q_rows)
        self.kv = [(make(KEY_HEADS, keys), make(KEY_HEADS, keys)) for _ in range(self.sets)]
        self.calls = max(self.sets, 8)

    def expected(self, n):
        k, v = (t.double().repeat_interleave(self.group, 1) for t in self.kv[n])
        return F.scaled_dot_product_attention(self.query.double(), k, v)

    def graph_of_ours(self, kernel, merge, split_tokens):
        splits = -(-self.keys // split_tokens)
        shape = (splits, 1, KEY_HEADS * self.group, self.q_rows)
        parts = torch.full((*shape, self.dim), float("nan"), device="cuda")
        lse_parts = torch.full(shape, float("nan"), device="cuda")
        self.out = torch.full_like(self.query, float("nan"))
        lse = torch.empty(shape[1:], device="cuda")
        join = merge.prepare(parts, lse_parts, None, self.out, lse, None)
        ours = [kernel.prepare(self.query, k, v, parts, lse_parts, splits=splits) for k, v in self.kv]

        def call(n):
            ours[n % self.sets]()
            join()
        call(0)
        torch.cuda.synchronize()
        error = (self.out.double() - self.expected(0)).abs().max().item()
        return graph_of([lambda n=n: call(n) for n in range(self.calls)]), error, (parts, lse_parts, lse)

    def graph_of_peer(self, backend):
        def call(n):
            k, v = self.kv[n % self.sets]
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(self.query, k, v, enable_gqa=self.group > 1)
        return graph_of([lambda n=n: call(n) for n in range(self.calls)])


def measure(folder, variants, split_tokens, sizes):
    problem = Problem(*sizes)
    graphs, errors, keep = {}, {}, []
    for variant in variants:
        kernel = PortableKernel(folder, variant)
        if kernel.e != problem.dim or problem.q_rows * problem.group > kernel.q_rows:
            continue
        for tokens in split_tokens:
            if problem.keys // tokens > 512:
                continue
            name = f"{variant}/{tokens}"
            graphs[name], errors[name], kept = problem.graph_of_ours(kernel, Merge(folder, "merge"), tokens)
            keep.append(kept)
    for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
        try:
            graphs[name] = problem.graph_of_peer(backend)
        except RuntimeError as error:
            print(f"# {name} {sizes}: {str(error).splitlines()[0][:90]}", flush=True)
    for name, us in microseconds(graphs, problem.calls).items():
        print(json.dumps({"kind": "decode", "q": sizes[0], "kv": sizes[1], "group": sizes[2], "dim": sizes[3], "kernel": name,
                          "us": round(us, 2), "gb_s": round(problem.kv_bytes / us / 1000), "max_error": errors.get(name)}), flush=True)


def main():
    folder, variants, tokens = sys.argv[1], sys.argv[2].split(","), [int(t) for t in sys.argv[3].split(",")]
    lists = [[int(x) for x in a.split(",")] for a in sys.argv[4:8]]
    rows, keys, groups, dims = lists + [[1, 16], [4096, 32768, 131072], [1, 4, 8], [128]][len(lists):]
    print("#", torch.__version__, torch.cuda.get_device_name(), flush=True)
    for dim in dims:
        for group in groups:
            for kv in keys:
                for q in rows:
                    measure(folder, variants, tokens, (q, kv, group, dim))


if __name__ == "__main__":
    main()
