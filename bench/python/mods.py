"""The variants that the Python benchmarks use: a score_mod and a mask_mod each, made anew at every call of
`variant`, as user code does."""

import torch

TOKENS = 2048
HEADS = 4
NAMES = ("causal", "window", "documents", "soft cap", "alibi", "bias table")


def variant(name, device):
    """score_mod, mask_mod; tensors on `device`."""
    causal = lambda b, h, q, kv: q >= kv  # noqa: E731
    if name == "causal":
        return None, causal
    if name == "window":
        return None, lambda b, h, q, kv: (q >= kv) & (q - kv < 512)
    if name == "documents":
        doc = (torch.arange(TOKENS, device=device) * 12 // TOKENS).to(torch.int32)
        return None, lambda b, h, q, kv: (q >= kv) & (doc[q] == doc[kv])
    if name == "soft cap":
        return lambda s, b, h, q, kv: 20.0 * torch.tanh(s / 20.0), causal
    if name == "alibi":
        return lambda s, b, h, q, kv: s + (kv - q) * torch.exp2(-8.0 * (h + 1) / HEADS), causal
    table = torch.randn(HEADS, 2 * TOKENS, device=device, generator=torch.Generator(device).manual_seed(1))
    return lambda s, b, h, q, kv: s + table[h, q - kv + TOKENS], causal


def ten_operations(s, b, h, q, kv):
    """Ten operations, for the time of a trace."""
    distance = (q - kv).abs()
    return torch.where(distance < 64, 5.0 * torch.tanh(s * 0.2) - distance * 0.125, s - 8.0 + h)
