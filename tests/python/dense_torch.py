"""Attention as one plain dense computation in torch, with gradients."""

import torch
from devices import LEARNING

# What 16-bit operands leave of a result, beside its largest value.
NARROW = {torch.float16: 8e-3, torch.bfloat16: 3e-2}


def dense(q, k, v, score=None, mask=None, scale=None):
    """out and lse; score(s, b, h, q, kv) and mask(b, h, q, kv) take tensors of positions. On a GPU in fp64."""
    if q.is_cuda:
        q, k, v = q.double(), k.double(), v.double()
    group = q.size(1) // k.size(1)
    k, v = (t.repeat_interleave(group, 1) for t in (k, v))
    s = q @ k.mT * (q.size(-1) ** -0.5 if scale is None else scale)
    places = [
        torch.arange(n, device=q.device).reshape([-1 if a == x else 1 for a in range(4)]) for x, n in enumerate(s.shape)
    ]
    if score is not None:
        s = score(s, *places)
    if mask is not None:
        s = s.masked_fill(~mask(*places), -torch.inf)
    lse = s.logsumexp(-1)
    top = torch.where(torch.isfinite(lse), lse, 0.0)
    return (s - top[..., None]).exp() @ v, lse


def same(got, want, atol=1e-9, rtol=1e-7):
    if got.is_cuda:
        # Operands were narrow, whatever the result is.
        got, want, bound = got.double(), want.double(), NARROW.get(got.dtype, NARROW[torch.float16])
        finite = torch.isfinite(want)
        assert torch.equal(torch.isfinite(got), finite) and torch.equal(got[~finite], want[~finite])
        error, largest = ((t.abs()[finite].max().item() if finite.any() else 0) for t in (got - want, want))
        assert error <= max(atol, bound * max(largest, 1e-3)), error
        return
    torch.testing.assert_close(got, want, atol=atol, rtol=rtol, check_dtype=False)


def operands(B=1, H=2, S=40, D=8, *, Hkv=None, KV=None, Dv=None, Bkv=None, dtype=LEARNING, grad=True):
    Hkv, KV, Bkv = Hkv or H, S if KV is None else KV, Bkv or B
    make = lambda *shape: torch.randn(*shape, dtype=dtype, requires_grad=grad)  # noqa: E731
    return make(B, H, S, D), make(Bkv, Hkv, KV, D), make(Bkv, Hkv, KV, Dv or D)


def gradients(output, inputs, up=None):
    up = torch.ones_like(output) if up is None else up
    return torch.autograd.grad(output, inputs, up, allow_unused=True)
