"""Backward on the CPU beside PyTorch's SDPA, in one process.

Run: .venv/bin/python bench/peers/torch_cpu_backward.py [--json FILE]

Every variant is timed in rounds: each implementation once a round, in turn, so that a machine whose speed
drifts drifts for all. Quoted are medians and the ratio of medians; GFLOP/s count live pairs only: forward
4 * head_dim operations a pair, backward 2.5 times as many. Answers are compared before anything is timed.
SDPA's backward is what autograd runs for one call of scaled_dot_product_attention, forward apart.
"""

import argparse
import json
from pathlib import Path

import torch
import torch.nn.functional as F

import c_abi
from torch_cpu import HEADS, TOKENS, VARIANTS, documents, environment, live_pairs, medians_ms

BACKWARD_OVER_FORWARD = 2.5
PEER_VARIANTS = ("full", "causal")


def sdpa_backward(variant, tensors, d_out):
    """A call that returns the gradients of query, key and value."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    out = F.scaled_dot_product_attention(*leaves, is_causal=variant == "causal")
    return lambda: torch.autograd.grad(out, leaves, d_out, retain_graph=True)


def require_close(name, got, expected, dtype):
    tolerance = 1e-3 if dtype == torch.float32 else 6e-2
    worst = (got.float() - expected.float()).abs().max().item()
    bound = tolerance * max(1.0, expected.float().abs().max().item())
    if not worst <= bound:
        raise SystemExit(f"{name}: gradients differ by {worst}, allowed {bound}")


def run_case(engine, variant, dtype, head_dim):
    generator = torch.Generator().manual_seed(1)
    shape = (1, HEADS, TOKENS, head_dim)
    tensors = [torch.randn(*shape, generator=generator).to(dtype) for _ in range(3)]
    d_out = torch.randn(*shape, generator=generator).to(dtype)
    out = torch.empty_like(tensors[0])
    lse = torch.empty(shape[:3], dtype=torch.float32)
    gradients = [torch.empty_like(tensor) for tensor in tensors]
    captures = {"doc": documents()} if variant == "documents" else {}
    program = engine.program(VARIANTS[variant], **captures)
    forward = lambda: engine.forward(program, *tensors, out, lse)
    backward = lambda: engine.backward(program, *tensors, out, lse, d_out, *gradients)
    forward()
    backward()
    calls = {"tilewright forward": forward, "tilewright": backward}
    if variant in PEER_VARIANTS:
        calls["sdpa"] = sdpa_backward(variant, tensors, d_out)
        for name, got, expected in zip(("d_query", "d_key", "d_value"), gradients, calls["sdpa"]()):
            require_close(f"{variant} {name}", got, expected, dtype)
    flops = 4 * head_dim * HEADS * live_pairs(variant)
    measured = medians_ms(calls)
    for name, (median, low, high) in measured.items():
        factor = 1 if name.endswith("forward") else BACKWARD_OVER_FORWARD
        yield {
            "variant": variant,
            "dtype": str(dtype).removeprefix("torch."),
            "head_dim": head_dim,
            "implementation": name,
            "median_ms": round(median, 3),
            "min_ms": round(low, 3),
            "max_ms": round(high, 3),
            "gflops": round(factor * flops / median / 1e6, 1),
            "ours_over_it": round(median / measured["tilewright"][0], 3),
        }


def main():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=str(root / "build/lib/libtilewright.so"))
    parser.add_argument("--json", help="write JSON lines to this file")
    parser.add_argument("--only", help="one variant")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), help="one dtype")
    parser.add_argument("--head-dim", type=int, help="one head dim")
    arguments = parser.parse_args()
    engine = c_abi.Engine(arguments.library)
    lines = [environment(arguments)]
    for dtype in (torch.float32, torch.bfloat16) if arguments.dtype is None else (getattr(torch, arguments.dtype),):
        for head_dim in (64, 128) if arguments.head_dim is None else (arguments.head_dim,):
            for variant in VARIANTS if arguments.only is None else (arguments.only,):
                for row in run_case(engine, variant, dtype, head_dim):
                    lines.append(row)
                    print(
                        f"{row['dtype']:9} hd{row['head_dim']:<4} {row['variant']:15} {row['implementation']:19}"
                        f"{row['median_ms']:9.2f} ms {row['gflops']:8.1f} GFLOP/s   ours x{row['ours_over_it']}",
                        flush=True,
                    )
    if arguments.json:
        Path(arguments.json).write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
