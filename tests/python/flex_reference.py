"""Dense attention by plain torch operations, with gradients, and the comparison that the ported cases share."""

import torch
from dense import EPS, assert_close, assert_stats
from devices import DEVICE

from tilewright.torch import AuxRequest, create_block_mask, flex_attention

NOTHING = float("-inf")


def indices(shape):
    """b, h, q, kv as index tensors that broadcast to `shape`."""
    return [torch.arange(n).reshape([-1 if a == axis else 1 for a in range(4)]) for axis, n in enumerate(shape)]


def dense(q, k, v, score=None, mask=None, scale=None, wide=None):
    """out and lse. Scores and softmax in `wide`, probabilities rounded to the dtype of q."""
    wide = wide or (torch.float64 if q.dtype == torch.float64 else torch.float32)
    group = q.size(1) // k.size(1)
    k, v = (t.expand(q.size(0), -1, -1, -1).repeat_interleave(group, 1) for t in (k, v))
    s = (q.to(wide) @ k.to(wide).mT) * (q.size(-1) ** -0.5 if scale is None else scale)
    at = indices(s.shape)
    if score is not None:
        s = torch.broadcast_to(score(s, *at), s.shape)
    if mask is not None:
        s = torch.where(mask(*at), s, NOTHING)
    live = s.amax(-1, keepdim=True) > NOTHING
    top = torch.where(live, s.amax(-1, keepdim=True), 0.0).detach()
    p = (s - top).exp()
    total = p.sum(-1, keepdim=True)
    lse = torch.where(live, total.clamp_min(torch.finfo(wide).tiny).log() + top, NOTHING)
    p = torch.where(live, p / torch.where(live, total, 1.0), 0.0)
    return (p.to(q.dtype).to(wide) @ v.to(wide)).to(q.dtype), lse.squeeze(-1)


def operands(B=2, H=4, Hkv=None, S=130, KV=None, D=32, Dv=None, dtype=torch.float32, Bkv=None):
    Hkv, KV, Dv, Bkv = Hkv or H, KV or S, Dv or D, Bkv or B
    make = lambda *shape: torch.randn(*shape, dtype=dtype)  # noqa: E731
    return make(B, H, S, D), make(Bkv, Hkv, KV, D), make(Bkv, Hkv, KV, Dv)


def leaves(tensors):
    """The same values at the same strides, as tensors that gradients are wanted of."""
    return [t.detach().requires_grad_(t.is_floating_point()) for t in tensors]


def assert_near(got, want, ref, eager, factor=1.0):
    """The tolerance of docs/semantics.md, and the rule of PyTorch's own tests: the mean error may be 1.1
    times (fp32: 10 times) that of the operations done one by one in the same dtype."""
    name = str(got.dtype).removeprefix("torch.")
    got, want, ref, eager = (t.detach().double() for t in (got, want, ref, eager))
    if got.numel() and not want.any():
        # Where each row has one key, gradients of scores are differences of equal sums of terms near 1.
        assert got.abs().max() <= EPS[name]
        return
    assert_close(got, want, ref, name, factor)
    if name != "float64" and got.numel():
        error, reference = (got - want).abs().mean(), (eager - want).abs().mean()
        assert error <= (10 if name == "float32" else 1.1) * reference + 1e-7 + 1e-6 * want.abs().mean()


def assert_sum_near(got, want, ref, eager, terms):
    """assert_near for a gradient that is a sum over many pairs: a sum that cancels is held against the size
    of its `terms`, and fewer than 32 elements against their maximum only (tests/support/backward.cpp says why)."""
    name = str(got.dtype).removeprefix("torch.")
    got, want, ref, eager = (t.detach().double() for t in (got, want, ref, eager))
    error, reference = (got - want).abs(), (ref - want).abs()
    eps = 3 * EPS[name]
    assert error.max() <= 2 * reference.max() + eps * terms.max()
    if got.numel() >= 32:
        assert error.mean() <= 1.2 * reference.mean() + eps / 10 * terms.mean()
    rms = lambda t: t.square().mean().sqrt()  # noqa: E731
    factor = {"float64": 1e3, "float32": 10}.get(name, 1) * 1.35**2
    assert rms(got - want) <= factor * rms(eager - want) + eps / 10 * rms(terms)


def check(q, k, v, score=None, mask=None, *, scale=None, block=None, batch_mask=None, gradients=True):
    """Output, lse and the gradients of q, k, v against the fp64 meaning. Returns our output."""
    block_mask = None
    if block is not None:
        B, H = batch_mask or (None, None)
        block_mask = create_block_mask(mask, B, H, q.size(-2), k.size(-2), device=DEVICE, BLOCK_SIZE=block)
        assert block_mask.kv_num_blocks is not None
    found = []
    ours = lambda *t: _ours(*t, score, None if block else mask, scale, block_mask)  # noqa: E731
    plain = lambda *t: dense(*t, score, mask, scale)  # noqa: E731
    one_by_one = lambda *t: dense(*t, score, mask, scale, wide=q.dtype)  # noqa: E731
    up = torch.randn(*q.shape[:-1], v.size(-1), dtype=torch.float64)
    exact = [t.double() for t in (q, k, v)]
    ways = ((ours, (q, k, v)), (plain, exact), (plain, (q, k, v)), (one_by_one, (q, k, v)))
    for attend, tensors in ways:
        given = leaves(tensors) if gradients else list(tensors)
        out, lse = attend(*given)
        grads = torch.autograd.grad(out, given, up.to(out.dtype)) if gradients else ()
        found.append((out, lse, *grads))
    got, want, ref, eager = found
    assert_near(got[0], want[0], ref[0], eager[0])
    assert_stats(got[1].detach(), want[1].detach(), str(q.dtype).removeprefix("torch."))
    for gradient in zip(got[2:], want[2:], ref[2:], eager[2:]):
        assert_near(*gradient, factor=3.0)
    return got[0]


def _ours(q, k, v, score, mask, scale, block_mask):
    out, aux = flex_attention(
        q, k, v, score, block_mask, scale, enable_gqa=True, mask_mod=mask, return_aux=AuxRequest(lse=True)
    )
    return out, aux.lse
