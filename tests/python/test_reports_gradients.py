"""What went wrong for others, by its id: problems of size zero, and gradients that nobody asks for."""

import itertools

import pytest
import torch
from dense_torch import gradients, operands
from devices import DEVICE, LEARNING

from tilewright.torch import AuxRequest, create_block_mask, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


@pytest.mark.parametrize("sizes", [{"B": 0}, {"H": 0}, {"S": 0, "KV": 7}, {"S": 7, "KV": 0}])
def test_C166_C168_zero_sizes(sizes):
    inputs = operands(**sizes)
    out, aux = flex_attention(*inputs, mask_mod=CAUSAL, return_aux=AuxRequest(lse=True))
    assert out.shape == inputs[0].shape and (out == 0).all() and torch.isneginf(aux.lse).all()
    for t, grad in zip(inputs, gradients(out, inputs)):
        assert grad.shape == t.shape and (grad == 0).all()
    create_block_mask(CAUSAL, None, None, out.size(2), inputs[1].size(2), device=DEVICE)


def test_C169_only_the_gradients_that_are_asked_for():
    whole = operands()
    up = torch.randn(1, 2, 40, 8, dtype=LEARNING)
    full = gradients(flex_attention(*whole), whole, up)
    for flags in itertools.product([False, True], repeat=3):
        if not any(flags):
            continue
        inputs = [t.detach().clone().requires_grad_(flag) for t, flag in zip(whole, flags)]
        flex_attention(*inputs).backward(up)
        for t, flag, grad in zip(inputs, flags, full):
            assert torch.equal(t.grad, grad) if flag else t.grad is None
