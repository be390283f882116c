"""Code that somebody else wrote against PyTorch."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

compiled = torch.compile(flex_attention)


def attend(x):
    mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 200, 200, device=x.device)
    return flex_attention(x, x, x, block_mask=mask)
