"""Gradients of attention in plain PyTorch, and the comparison with them."""
import torch

from problems import round_to_tf32


def dense_gradients(q, k, v, d_out, d_lse, mods, scale, dtype, p_dtype):
    """One (batch, key head): q [g, Q, E], k [KV, E], v [KV, Ev], d_out [g, Q, Ev], d_lse [g, Q]. With p_dtype (a type or "tf32") every
    operand of a product is rounded to it, as a plain computation in that type would. `mods` has head(h) bound already. Gives out, lse,
    dQ, dK, dV."""
    rounded = (lambda x: x) if p_dtype is None else round_to_tf32 if p_dtype == "tf32" else (lambda x: x.to(p_dtype).to(dtype))
    q, k, v, d_out = (rounded(x.to(dtype)) if p_dtype == "tf32" else x.to(dtype) for x in (q, k, v, d_out))
    i = torch.arange(q.shape[1], device="cuda")[:, None]
    j = torch.arange(k.shape[0], device="cuda")[None, :]
    s = ((q @ k.T) * scale).requires_grad_()
    t = s if mods.score is None else torch.stack([mods.score(s[n], mods.first_head + n, i, j) for n in range(q.shape[0])])
    keep = torch.ones_like(s, dtype=torch.bool) if mods.keep is None else mods.keep(i, j).expand_as(s)
    live = t.detach().masked_fill(~keep, float("-inf"))
    top = live.amax(-1, keepdim=True)
    p = torch.exp(live - torch.where(top.isinf(), torch.zeros_like(top), top))
    total = p.sum(-1, keepdim=True)
    seen = total > 0
    p = torch.where(seen, p / total.clamp(min=torch.finfo(dtype).tiny), torch.zeros_like(p))
    lse = torch.where(seen, top + total.log(), torch.full_like(top, float("-inf"))).squeeze(-1)
    g = torch.where(seen, d_out.to(dtype), torch.zeros((), dtype=dtype, device="cuda"))
    out = rounded(rounded(p) @ v)
    delta = (out * g).sum(-1, keepdim=True) - torch.where(seen.squeeze(-1), d_lse.to(dtype), 0).unsqueeze(-1)
    d_t = torch.where(keep & seen, p * (g @ v.T - delta), torch.zeros((), dtype=dtype, device="cuda"))
    d_s = rounded(d_t if mods.score is None else torch.autograd.grad(t, s, d_t)[0])
    d_q = torch.einsum("gij,jd->gid", d_s, k) * scale
    d_k = torch.einsum("gij,gid->jd", d_s, q) * scale
    d_v = torch.einsum("gij,gid->jd", rounded(p), g)
    return [x.detach() for x in (out, lse, d_q, d_k, d_v)]


EPS = {torch.bfloat16: 8e-3, torch.float16: 1e-3, torch.float32: 1e-5}


def fractions(found, exact, plain, terms, tf32=False):
    """Worst error as a fraction of the bounds of the semantics, of the maximum and of the mean; three times the forward's eps. Where
    a gradient is 0 because its terms cancel (a row that sees one key), fp32 leaves the rounding of the terms, whose size is `terms`. TF32, by option only, has the eps of
    fp16 and may leave that much of the terms everywhere: dP is rounded, delta is not."""
    eps = 3 * (1e-3 if tf32 else EPS[found.dtype])
    slack = eps * terms if tf32 else 0.0
    error, allowed, size = (found.double() - exact).abs(), (plain.to(found.dtype).double() - exact).abs(), exact.abs()
    if size.max() < 1e-9 * terms:
        worst = float(error.max() / (1e-5 * terms)) if terms > 0 else float(error.max() != 0) * float("inf")
        return [worst, worst]
    bound_max = 2 * allowed.max() + eps * size.max() + slack
    bound_mean = 1.2 * allowed.mean() + eps / 10 * size.mean() + slack / 10
    return [float(error.max() / bound_max), float(error.mean() / bound_mean)]


def seen_rows_and_keys(mods, rows, kv_rows):
    """Which rows see a key and which keys are seen, for masks that do not look at heads."""
    if mods.keep is None:
        return torch.ones(rows, dtype=torch.bool, device="cuda"), torch.ones(kv_rows, dtype=torch.bool, device="cuda")
    i = torch.arange(rows, device="cuda")[:, None]
    j = torch.arange(kv_rows, device="cuda")[None, :]
    keep = mods.keep(i, j)
    return keep.any(1), keep.any(0)
