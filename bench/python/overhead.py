"""What one call from Python costs beside its kernel, stage by stage: `overhead.py [cpu|cuda]`.

The problem is tiny, so that the kernel costs next to nothing; "engine" is the compiled call alone, with
its kernel, and every other line is to be read beside it. On a GPU the numbers are host time: calls are
enqueued. Each is the smallest mean of nine runs of 300 calls, in microseconds, on one thread.
"""

import sys
import time

import torch

import tilewright as tw
from tilewright import _core
from tilewright._trace import trace
from tilewright.torch import create_block_mask, flex_attention

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
torch.set_num_threads(1)
tw.configure(threads=1)


def best(function, calls=300, runs=9):
    function()
    found = []
    for _ in range(runs):
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            function()
        found.append((time.perf_counter() - start) / calls * 1e6)
    return min(found)


def show(stage, function, **settings):
    took = best(function, **settings)
    print(f"{stage:52s} {took:8.2f} us", flush=True)
    return took


dtype = torch.bfloat16 if DEVICE == "cuda" else torch.float32
q, k, v = (torch.randn(1, 2, 16, 64, device=DEVICE, dtype=dtype) for _ in range(3))
grad = [t.clone().requires_grad_() for t in (q, k, v)]
bias = torch.randn(2, device=DEVICE)
window = 5


def ten_operations(s, b, h, q_idx, kv_idx):
    d = q_idx - kv_idx
    e = d * d + 3
    return s + d * 0.5 - (e + h) * 0.25 + b


def ten_calls(s, b, h, q_idx, kv_idx):
    d = (q_idx - kv_idx).abs()
    return torch.where(d < window, s + bias[h] * d, s * 0.5 - torch.tanh(s) * 2.0)


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


mask = create_block_mask(causal, None, None, 16, 16, device=DEVICE)
frozen = tw.freeze(ten_calls)

print(f"torch {torch.__version__} on {DEVICE}")
show("trace: nothing", lambda: trace(lambda s, b, h, i, j: s, None))
show("trace: causal mask", lambda: trace(None, causal))
show("trace: 10 operators", lambda: trace(ten_operations, None))
show("trace: 10 operations, 2 of torch's, a table", lambda: trace(ten_calls, None, device=q.device))

engine, out = tw.engine(), torch.empty_like(q)
empty, program = _core.Program(), trace(ten_calls, None, device=q.device).program
options = (None, None, None, False)
alone = show("engine: no mod", lambda: engine.attention(empty, (q, k, v), (out, None, None), options))
show("engine: 10 operations", lambda: engine.attention(program, (q, k, v), (out, None, None), options))

with torch.no_grad():
    plain = show("flex_attention: no mod", lambda: flex_attention(q, k, v))
    show("flex_attention: causal block mask", lambda: flex_attention(q, k, v, block_mask=mask))
    show("flex_attention: 10 operations", lambda: flex_attention(q, k, v, ten_calls))
    show("flex_attention: 10 operations, frozen", lambda: flex_attention(q, k, v, frozen))
    show("tilewright.attention: no mod", lambda: tw.attention(q, k, v))
    show("scaled_dot_product_attention of torch", lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
training = show("flex_attention: no mod, with autograd", lambda: flex_attention(*grad))
show("flex_attention: 10 operations, with autograd", lambda: flex_attention(*grad, ten_calls))
try:
    up = torch.ones_like(q)
    show(
        "flex_attention: no mod, forward and backward",
        lambda: torch.autograd.grad(flex_attention(*grad), grad, up), calls=100,
    )  # fmt: skip
except tw.Error as refused:
    print("backward:", refused.what)
print(f"beyond the engine: {plain - alone:.1f} us, with autograd {training - alone:.1f} us")
