"""tilewright.torch beside torch.compile(flex_attention) and SDPA: what a call costs before, around and in it.

Run: .venv/bin/python bench/python/adoption.py [--device cuda] [--json FILE] [--variants causal ...]
     ... --caches DIR --phase cold, then the same with --phase warm, appends the two halves to one FILE

Two processes, one after the other: the first starts with empty caches on disk, the second finds what the
first left there. In each, implementations take turns. Measured:

- first call: from a new mod to its first result; mask, trace or capture, compile and one run
- trace: one mod of ten operations, run on symbols
- overhead: a call on tensors so small that the kernel takes no time
- steady: a call at 2,048 tokens, warmed up

Results are compared with each other before anything is timed. JSON lines, times in milliseconds.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from mods import HEADS, NAMES, TOKENS, ten_operations, variant
from torch.nn.attention import flex_attention as theirs

import tilewright
from tilewright import torch as ours

HEAD_DIM = 64
DTYPES = {"cpu": torch.float32, "cuda": torch.bfloat16}
DIFFERENCES = {"cpu": 2e-4, "cuda": 4e-2}  # of results, which are near 1 at most
ROUNDS = 15


def operands(device, tokens):
    dtype = DTYPES[device]
    draw = torch.Generator(device).manual_seed(3)
    return [torch.randn(1, HEADS, tokens, HEAD_DIM, device=device, dtype=dtype, generator=draw) for _ in range(3)]


def settle(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(function, device):
    settle(device)
    begin = time.perf_counter()
    result = function()
    settle(device)
    return 1e3 * (time.perf_counter() - begin), result


class Ours:
    name = "tilewright"

    def __init__(self, device):
        self.device = device

    def make(self, score, mask, tokens):
        made = ours.create_block_mask(mask, None, None, tokens, tokens, device=self.device) if mask else None
        return lambda q, k, v: ours.flex_attention(q, k, v, score, made)


class Flex:
    name = "torch.compile(flex_attention)"

    def __init__(self, device):
        self.device = device
        self.compiled = torch.compile(theirs.flex_attention, dynamic=False)

    def make(self, score, mask, tokens):
        made = theirs.create_block_mask(mask, None, None, tokens, tokens, device=self.device) if mask else None
        return lambda q, k, v: self.compiled(q, k, v, score, made)


def first_calls(device, cache, names):
    """One line a variant and implementation; torch's very first, which loads Inductor, is marked."""
    tensors = operands(device, TOKENS)
    sides = [Ours(device), Flex(device)]
    torch.compile(lambda x: x.sin() + 1)(tensors[0])  # the compiler itself is loaded before any clock runs
    for place, name in enumerate(names):
        found = {}
        for side in sides if place % 2 else sides[::-1]:
            mods = variant(name, device)
            found[side.name] = timed(lambda: side.make(*mods, TOKENS)(*tensors), device)
        (mine, out), (other, want) = found["tilewright"], found[Flex.name]
        error = (out - want).abs().max().item()
        assert error < DIFFERENCES[device], f"{name}: {error}"
        yield {"measured": "first call", "cache": cache, "variant": name, "first of the process": place == 0,
               "tilewright_ms": mine, "flex_ms": other, "ratio": mine / other, "difference": error}  # fmt: skip


def in_turn(calls, device, rounds, repeats):
    """Median, least and most of each call, one round of each after the other."""
    times = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(3):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            spent, _ = timed(lambda: [call() for _ in range(repeats)], device)
            times[name].append(spent / repeats)
    return {name: (statistics.median(t), min(t), max(t)) for name, t in times.items()}


def steady(device, names):
    q, k, v = operands(device, TOKENS)
    for name in names:
        score, mask = variant(name, device)
        calls = {s.name: (lambda call: lambda: call(q, k, v))(s.make(score, mask, TOKENS))
                 for s in (Ours(device), Flex(device))}  # fmt: skip
        if name == "causal":
            calls["sdpa"] = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        yield from lines("steady", name, in_turn(calls, device, ROUNDS, 1))


def overhead(device, _):
    q, k, v = operands(device, 8)
    causal = lambda b, h, i, j: i >= j  # noqa: E731
    made = Ours(device).make(ten_operations, causal, 8)
    compiled = Flex(device).make(ten_operations, causal, 8)
    frozen = tilewright.freeze(ten_operations)
    calls = {
        "tilewright": lambda: made(q, k, v),
        "tilewright, frozen mod": lambda: ours.flex_attention(q, k, v, frozen),
        "tilewright, no mod": lambda: ours.flex_attention(q, k, v),
        Flex.name: lambda: compiled(q, k, v),
        "sdpa": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v),
    }
    yield from lines("overhead", "ten operations, 8 tokens", in_turn(calls, device, ROUNDS, 50))
    from tilewright._trace import trace

    calls = {"tilewright": lambda: trace(ten_operations, None, device=q.device, dtype=q.dtype)}
    yield from lines("trace", "ten operations", in_turn(calls, device, ROUNDS, 100))


def lines(measured, name, found):
    ours_ms = found["tilewright"][0]
    for implementation, (median, least, most) in found.items():
        yield {"measured": measured, "variant": name, "implementation": implementation, "median_ms": median,
               "min_ms": least, "max_ms": most, "ours_over_it": ours_ms / median}  # fmt: skip


def child(device, cache, names):
    with torch.no_grad():
        for line in first_calls(device, cache, names):
            print(json.dumps(line), flush=True)
        if cache == "warm":
            for measure in (overhead, steady):
                for line in measure(device, names):
                    print(json.dumps(line), flush=True)


def environment(device):
    return {"environment": {
        "date": datetime.date.today().isoformat(), "cpu": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(), "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__, "python": platform.python_version(), "command": "python " + " ".join(sys.argv),
        "shape": f"B1 H{HEADS} S{TOKENS} hd{HEAD_DIM} {str(DTYPES[device]).removeprefix('torch.')}",
    }}  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json")
    parser.add_argument("--caches", help="folder of the caches; a new one otherwise, removed at the end")
    parser.add_argument("--phase", choices=("cold", "warm"), help="only this half; needs --caches")
    parser.add_argument("--variants", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.device, options.child, options.variants)
    with tempfile.TemporaryDirectory() as made:
        found = [json.dumps(environment(options.device))]
        for cache in [options.phase] if options.phase else ("cold", "warm"):
            found += lines_of_process(options, cache, options.caches or made)
    if options.json:
        with open(options.json, "a") as file:
            file.write("\n".join(found) + "\n")


def lines_of_process(options, cache, caches):
    home = {"TILEWRIGHT_CACHE_DIR": f"{caches}/tilewright", "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor",
            "TRITON_CACHE_DIR": f"{caches}/triton"}  # fmt: skip
    command = [sys.executable, __file__, "--child", cache, "--device", options.device, "--variants", *options.variants]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **home})
    found = []
    for line in process.stdout:
        print(line, end="", flush=True)
        found.append(line.strip())
    if process.wait():
        sys.exit(process.returncode)
    return found


if __name__ == "__main__":
    main()
