"""Every implementation of a forward problem as a callable without arguments: ours through the C interface, and the peers that
can express it. One that cannot be imported, or refuses the problem, is left out with its reason."""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import c_abi
from attention_problems import WINDOW


def ours(engine, problem):
    out = torch.empty(*problem.q.shape[:3], problem.shape.ev, device="cuda", dtype=problem.q.dtype)
    program = engine.program(problem.text, **problem.captures)
    inputs = c_abi.Inputs(*map(c_abi.tensor, (problem.q, problem.k, problem.v)))
    outputs = c_abi.Outputs(c_abi.tensor(out), None, None)

    def call():
        engine.run(program, inputs, outputs)
        return out

    return call


def sdpa(problem, backend):
    if problem.shape.variant not in ("full", "causal"):
        return None
    causal = problem.shape.variant == "causal"
    shared = problem.shape.key_heads != problem.shape.heads

    def call():
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(problem.q, problem.k, problem.v, is_causal=causal, enable_gqa=shared)

    return call


def flex(problem, backend):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()
    rows, mask = problem.shape.rows, problem.mask_mod()
    blocks = create_block_mask(mask, None, None, rows, rows, device="cuda") if mask else None
    compiled = torch.compile(flex_attention, dynamic=False)
    score = problem.score_mod()
    return lambda: compiled(
        problem.q, problem.k, problem.v, score_mod=score, block_mask=blocks,
        enable_gqa=problem.shape.key_heads != problem.shape.heads, kernel_options={"BACKEND": backend}
    )


def fa4_options(problem):
    """What flash_attn_func is called with beside the tensors; None where it has no such problem."""
    options = {"causal": problem.shape.variant != "full"}
    if problem.shape.variant == "window":
        options["window_size"] = (WINDOW, 0)
    return options if problem.shape.variant in ("full", "causal", "window") else None


def fa4(problem):
    options = fa4_options(problem)
    if options is None:
        return None
    from flash_attn.cute import flash_attn_func

    q, k, v = (x.transpose(1, 2).contiguous() for x in (problem.q, problem.k, problem.v))

    def call():
        out = flash_attn_func(q, k, v, **options)
        return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)

    return call


def eager(problem):
    """softmax(score_mod(q k^T)) v with the mask as a tensor, as one writes it without a kernel."""
    rows, s = problem.shape.rows, problem.shape
    i = torch.arange(rows, device="cuda")
    mask, score_mod = problem.mask_mod(), problem.score_mod()
    keep = mask(0, 0, i[:, None], i[None, :]) if mask else None
    head = torch.arange(s.heads, device="cuda")[:, None, None]

    def call():
        score = problem.q @ problem.k.transpose(-1, -2) * s.e**-0.5
        if score_mod is not None:
            score = score_mod(score, 0, head, i[:, None], i[None, :])
        if keep is not None:
            score = score.masked_fill(~keep, float("-inf"))
        return torch.softmax(score, -1).to(problem.v.dtype) @ problem.v

    return call


def peers(problem, wanted):
    """Name -> function that makes the callable."""
    all_of_them = {
        "cudnn": lambda: sdpa(problem, SDPBackend.CUDNN_ATTENTION),
        "flash-attention-2": lambda: sdpa(problem, SDPBackend.FLASH_ATTENTION),
        "flash-attention-4": lambda: fa4(problem),
        "flex-triton": lambda: flex(problem, "TRITON"),
        "flex-flash": lambda: flex(problem, "FLASH"),
        "eager": lambda: eager(problem),
    }
    return {name: make for name, make in all_of_them.items() if name in wanted}
