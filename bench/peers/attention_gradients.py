"""Every implementation of a backward problem as a callable that returns its gradients: ours through the C interface, and the
peers that can express it, through autograd. One that cannot be imported, or refuses the problem, is left out with its reason."""
import ctypes

import torch
from torch.nn.attention import SDPBackend

import attention_peers
import c_abi


class Ours:
    """Forward once, then a call of backward alone."""

    def __init__(self, engine, problem, d_out, deterministic):
        self.engine = engine
        shape, device = problem.shape, problem.q.device
        out = torch.empty_like(d_out)
        lse = torch.empty(*out.shape[:3], device=device)
        self.gradients = [torch.empty_like(x) for x in (problem.q, problem.k, problem.v)]
        self.kept = [problem.q, problem.k, problem.v, out, lse, d_out]
        self.program = engine.program(problem.text, **problem.captures)
        self.options = c_abi.CallOptions(ctypes.sizeof(c_abi.CallOptions), None, None, int(deterministic))
        engine.forward(self.program, problem.q, problem.k, problem.v, out, lse)
        self.inputs = c_abi.BackwardInputs(ctypes.sizeof(c_abi.BackwardInputs), *map(c_abi.tensor, self.kept), None)
        pointers = [ctypes.pointer(c_abi.tensor(gradient)) for gradient in self.gradients]
        self.captures = None
        if shape.table_gradient:
            self.gradients.append(torch.empty_like(problem.captures["table"]))
            self.captures = (c_abi.CaptureGradient * 1)(c_abi.CaptureGradient(b"table", c_abi.tensor(self.gradients[-1])))
        self.outputs = c_abi.BackwardOutputs(
            ctypes.sizeof(c_abi.BackwardOutputs), *pointers, ctypes.cast(self.captures, ctypes.c_void_p),
            len(self.captures or ()))

    def __call__(self):
        engine = self.engine
        engine.check(engine.library.tw_backward_with(engine.engine, self.program, ctypes.byref(self.inputs),
                                                     ctypes.byref(self.outputs), ctypes.byref(self.options)))
        return self.gradients


def through_autograd(make_forward, problem, d_out):
    """The backward of what `make_forward` returns; None where the peer has no such problem."""
    leaves = [problem.q, problem.k, problem.v]
    if problem.shape.table_gradient:
        leaves.append(problem.captures["table"])
    for leaf in leaves:
        leaf.requires_grad_(True)
    forward = make_forward()
    if forward is None:
        return None
    out = forward()
    return lambda: torch.autograd.grad(out, leaves, d_out, retain_graph=True)


def fa4(problem, d_out):
    """On leaves that lie as it takes them: [batches, rows, heads, e]."""
    options = attention_peers.fa4_options(problem)
    if options is None:
        return None
    from flash_attn.cute import flash_attn_func

    leaves = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in (problem.q, problem.k, problem.v)]
    out = flash_attn_func(*leaves, **options)
    out = out[0] if isinstance(out, tuple) else out
    d_out = d_out.transpose(1, 2).contiguous()
    return lambda: [x.transpose(1, 2) for x in torch.autograd.grad(out, leaves, d_out, retain_graph=True)]


def makers(engine, problem, wanted):
    """Name -> function that makes the callable."""
    d_out = problem.fresh(problem.shape.heads, problem.shape.ev)
    forwards = {
        "cudnn": lambda: attention_peers.sdpa(problem, SDPBackend.CUDNN_ATTENTION),
        "flash-attention-2": lambda: attention_peers.sdpa(problem, SDPBackend.FLASH_ATTENTION),
        "flex-triton": lambda: attention_peers.flex(problem, "TRITON"),
        "flex-flash": lambda: attention_peers.flex(problem, "FLASH"),
    }
    found = {
        "tilewright": lambda: Ours(engine, problem, d_out, False),
        "tilewright-deterministic": lambda: Ours(engine, problem, d_out, True),
    }
    for name, forward in forwards.items():
        if name in wanted:
            found[name] = lambda forward=forward: through_autograd(forward, problem, d_out)
    if "flash-attention-4" in wanted:
        found["flash-attention-4"] = lambda: fa4(problem, d_out)
    return found
