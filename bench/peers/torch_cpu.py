"""Forward on the CPU beside PyTorch's SDPA and compiled FlexAttention, in one process.

Run: .venv/bin/python bench/peers/torch_cpu.py [--json FILE] [--flex]

Every variant is timed in rounds: each implementation once a round, in turn, so that a machine whose speed
drifts drifts for all. Quoted are medians and the ratio of medians; GFLOP/s count live pairs only
(4 * head_dim operations a pair). Answers are compared before anything is timed.
"""

import argparse
import datetime
import json
import platform
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import c_abi

TOKENS = 4096
HEADS = 4
WINDOW = 1024
ROUNDS = 7

VARIANTS = {
    "full": "",
    "causal": "q >= kv",
    "window 1024": f"(q >= kv) & (q - kv < {WINDOW})",
    "documents": "capture doc: i32[1]\n(q >= kv) & (doc[q] == doc[kv])",
    "alibi causal": f"mask = q >= kv\nscore = score + (kv - q) * exp2(-8.0 * (h + 1) / {HEADS})",
    "softcap causal": "mask = q >= kv\nscore = 20.0 * tanh(score / 20.0)",
}


def documents():
    return (torch.arange(TOKENS) * 12 // TOKENS).to(torch.int32)


def live_pairs(variant):
    q = torch.arange(TOKENS)
    if variant == "full":
        return TOKENS * TOKENS
    keys = q + 1
    if variant == "window 1024":
        keys = torch.minimum(keys, torch.tensor(WINDOW))
    if variant == "documents":
        doc = documents()
        keys = torch.tensor([int((doc[: i + 1] == doc[i]).sum()) for i in range(TOKENS)])
    return int(keys.sum())


def flex_mods(variant):
    doc = documents()
    causal = lambda b, h, q, kv: q >= kv
    masks = {
        "causal": causal,
        "window 1024": lambda b, h, q, kv: (q >= kv) & (q - kv < WINDOW),
        "documents": lambda b, h, q, kv: (q >= kv) & (doc[q] == doc[kv]),
        "alibi causal": causal,
        "softcap causal": causal,
    }
    scores = {
        "alibi causal": lambda s, b, h, q, kv: s + (kv - q) * torch.exp2(-8.0 * (h + 1) / HEADS),
        "softcap causal": lambda s, b, h, q, kv: 20.0 * torch.tanh(s / 20.0),
    }
    return masks.get(variant), scores.get(variant)


def peers(variant, tensors, with_flex):
    """Name -> call returning the output, for every peer that can express the variant."""
    calls = {}
    if variant in ("full", "causal"):
        calls["sdpa"] = lambda: F.scaled_dot_product_attention(*tensors, is_causal=variant == "causal")
    if with_flex:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        mask, score = flex_mods(variant)
        block_mask = create_block_mask(mask, None, None, TOKENS, TOKENS, device="cpu") if mask else None
        compiled = torch.compile(flex_attention)
        calls["flex"] = lambda: compiled(*tensors, score_mod=score, block_mask=block_mask)
    return calls


def medians_ms(calls):
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return {name: (statistics.median(t), min(t), max(t)) for name, t in times.items()}


def require_close(name, got, expected, dtype):
    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    worst = (got.float() - expected.float()).abs().max().item()
    if not worst <= tolerance:
        raise SystemExit(f"{name}: answers differ by {worst}")


def run_case(engine, variant, dtype, head_dim, with_flex):
    generator = torch.Generator().manual_seed(1)
    tensors = [torch.randn(1, HEADS, TOKENS, head_dim, generator=generator).to(dtype) for _ in range(3)]
    out = torch.empty_like(tensors[0])
    captures = {"doc": documents()} if variant == "documents" else {}
    program = engine.program(VARIANTS[variant], **captures)
    calls = peers(variant, tensors, with_flex)
    engine.forward(program, *tensors, out)
    for name, call in calls.items():
        require_close(f"{variant} {name}", out, call(), dtype)
    calls = {"tilewright": lambda: engine.forward(program, *tensors, out)} | calls
    flops = 4 * head_dim * HEADS * live_pairs(variant)
    measured = medians_ms(calls)
    for name, (median, low, high) in measured.items():
        yield {
            "variant": variant,
            "dtype": str(dtype).removeprefix("torch."),
            "head_dim": head_dim,
            "implementation": name,
            "median_ms": round(median, 3),
            "min_ms": round(low, 3),
            "max_ms": round(high, 3),
            "gflops": round(flops / median / 1e6, 1),
            "ours_over_it": round(median / measured["tilewright"][0], 3),
        }


def environment(arguments):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return {
        "environment": {
            "date": datetime.date.today().isoformat(),
            "cpu": cpu,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "command": " ".join(["python", *sys.argv]),
            "shape": f"B1 H{HEADS} S{TOKENS}",
        }
    }


def main():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=str(root / "build/lib/libtilewright.so"))
    parser.add_argument("--json", help="write JSON lines to this file")
    parser.add_argument("--flex", action="store_true", help="time compiled FlexAttention too (minutes of compiling)")
    parser.add_argument("--only", choices=VARIANTS, help="one variant")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help="one dtype")
    parser.add_argument("--head-dim", type=int, help="one head dim")
    arguments = parser.parse_args()
    engine = c_abi.Engine(arguments.library)
    lines = [environment(arguments)]
    for dtype in (torch.float32, torch.bfloat16) if arguments.dtype is None else (getattr(torch, arguments.dtype),):
        for head_dim in (64, 128) if arguments.head_dim is None else (arguments.head_dim,):
            for variant in VARIANTS if arguments.only is None else (arguments.only,):
                for row in run_case(engine, variant, dtype, head_dim, arguments.flex):
                    lines.append(row)
                    print(
                        f"{row['dtype']:9} hd{row['head_dim']:<4} {row['variant']:15} {row['implementation']:11}"
                        f"{row['median_ms']:9.2f} ms {row['gflops']:8.1f} GFLOP/s   ours x{row['ours_over_it']}",
                        flush=True,
                    )
    if arguments.json:
        Path(arguments.json).write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
