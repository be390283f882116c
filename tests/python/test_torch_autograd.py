"""Gradients through attention: operands, captured tensors, lse; the dispatcher's contracts."""

import pytest
import torch
from dense_torch import dense, same
from devices import DEVICE, LEARNING, ON_GPU, SINGLE
from torch.utils.checkpoint import checkpoint

import tilewright as tw
from tilewright.torch import AuxRequest, create_block_mask, flex_attention


def operands(S=40, KV=None, D=16, H=4, Hkv=2, dtype=LEARNING):
    KV = KV or S
    make = lambda *shape: torch.randn(*shape, dtype=dtype, requires_grad=True)  # noqa: E731
    return make(2, H, S, D), make(2, Hkv, KV, D), make(2, Hkv, KV, D)


def gradients(outputs, inputs, weights):
    loss = sum((o * w).sum() for o, w in zip(outputs, weights))
    return torch.autograd.grad(loss, inputs)


def check(q, k, v, score=None, mask=None, captures=(), with_lse=True):
    out, aux = flex_attention(q, k, v, score, enable_gqa=True, mask_mod=mask, return_aux=AuxRequest(lse=True))
    want = dense(q, k, v, score, mask)
    weights = [torch.randn_like(out), torch.randn_like(aux.lse)]
    got, expected = (out, aux.lse), want
    if not with_lse:
        got, expected, weights = got[:1], expected[:1], weights[:1]
    inputs = (q, k, v, *captures)
    for a, b in zip(gradients(got, inputs, weights), gradients(expected, inputs, weights)):
        same(a, b)


CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def test_operands_and_lse():
    check(*operands(), mask=CAUSAL)
    check(*operands(S=30, KV=50), score=lambda s, b, h, q, kv: 5 * torch.tanh(s / 5) + (q - kv) * 0.125)


@pytest.mark.parametrize("shape", [(), (4,), (4, 40), (80,), (2, 4, 40, 40)])
def test_captured_tensors_of_any_rank(shape):
    c = torch.randn(shape, dtype=LEARNING, requires_grad=True)
    places = {0: lambda b, h, q, kv: (), 1: lambda b, h, q, kv: (h,) if shape == (4,) else (q - kv + 40,),
              2: lambda b, h, q, kv: (h, q), 4: lambda b, h, q, kv: (b, h, q, kv)}[len(shape)]  # fmt: skip

    def score(s, b, h, q, kv):
        value = c[places(b, h, q, kv)] if shape else c
        return s * value.sigmoid() + value

    check(*operands(), score=score, mask=CAUSAL, captures=(c,))


def test_a_captured_tensor_used_twice_and_one_unused():
    c = torch.randn(4, dtype=LEARNING, requires_grad=True)
    check(*operands(), score=lambda s, b, h, q, kv: s * c[h] + c[h] * c[-1], mask=CAUSAL, captures=(c,))
    q, k, v = operands(Hkv=4)
    unused = torch.randn(4, dtype=LEARNING, requires_grad=True)
    out = flex_attention(q, k, v, lambda s, b, h, q, kv: (unused[h], s)[1])
    out.sum().backward()
    assert unused.grad is None or (unused.grad == 0).all()


def test_gradient_reaches_what_made_the_bias():
    weight = torch.randn(16, 40, dtype=LEARNING, requires_grad=True)
    q, k, v = operands(Hkv=4)
    x = torch.randn(2, 4, 40, 16, dtype=LEARNING)
    bias = x @ weight
    out = flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[b, h, i, j])
    want, _ = dense(q, k, v, lambda s, b, h, i, j: s + bias)
    up = torch.randn_like(out)
    a = torch.autograd.grad((out * up).sum(), weight, retain_graph=True)
    b = torch.autograd.grad((want * up).sum(), weight)
    same(a[0], b[0])


def test_empty_rows_have_exact_zero_gradients():
    q, k, v = operands(Hkv=4)
    out = flex_attention(q, k, v, mask_mod=lambda b, h, q, kv: (kv <= q) & ((q + h) % 4 != 3))
    up = torch.full_like(out, torch.nan)
    rows = torch.arange(40)
    for h in range(4):
        up[:, h, (rows + h) % 4 != 3] = 1.0
    grads = torch.autograd.grad(out, (q, k, v), up)
    assert all(torch.isfinite(g).all() for g in grads)
    assert (grads[0][:, 0, rows % 4 == 3] == 0).all()


def test_the_same_tensor_and_expanded_gradients():
    x = torch.randn(1, 2, 30, 8, dtype=LEARNING, requires_grad=True)
    flex_attention(x, x, x).sum().backward()
    y = x.detach().clone().requires_grad_()
    dense(y, y, y)[0].sum().backward()
    same(x.grad, y.grad)


def test_block_lists_and_shared_batches():
    q, k, v = operands(S=64, Hkv=4)
    from torch.nn.attention.flex_attention import create_block_mask as theirs

    mask = theirs(CAUSAL, 1, 1, 64, 64, device=DEVICE, BLOCK_SIZE=16)
    a = torch.autograd.grad(flex_attention(q, k, v, block_mask=mask).square().sum(), (q, k, v))
    b = torch.autograd.grad(dense(q, k, v, None, CAUSAL)[0].square().sum(), (q, k, v))
    for x, y in zip(a, b):
        same(x, y)


def test_checkpointing_autocast_and_threads_of_autograd():
    q, k, v = operands(dtype=SINGLE, Hkv=4)
    c = torch.randn(4, requires_grad=True)
    attend = lambda *t: flex_attention(*t, lambda s, b, h, i, j: s * c[h])  # noqa: E731
    want = torch.autograd.grad(attend(q, k, v).square().sum(), (q, k, v, c))
    got = torch.autograd.grad(checkpoint(attend, q, k, v, use_reentrant=False).square().sum(), (q, k, v, c))
    for a, b in zip(got, want):
        assert torch.equal(a, b)
    with torch.autocast(DEVICE, torch.bfloat16):
        out = attend(q, k, v)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    assert q.grad.dtype == SINGLE


def test_a_mutated_capture_is_noticed():
    q, k, v = operands(Hkv=4)
    c = torch.randn(4, dtype=LEARNING)
    out = flex_attention(q, k, v, lambda s, b, h, i, j: s * c[h])
    c.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_second_derivatives_are_refused():
    q, k, v = operands(Hkv=4)
    (grad,) = torch.autograd.grad(flex_attention(q, k, v).square().sum(), q, create_graph=True)
    with pytest.raises(tw.UnsupportedError, match="twice"):
        grad.sum().backward()


def test_opcheck():
    q, k, v = (t.detach().requires_grad_() for t in operands(S=12, D=8, H=2, Hkv=2))
    text = f"capture c: {'f16' if ON_GPU else 'f64'}[1]\nscore = score * c[h]\nmask = q - kv < 5\n"
    program = tw.Program.parse(text)
    numbers = program.number_values
    c = torch.randn(2, dtype=LEARNING, requires_grad=True)
    torch.library.opcheck(
        torch.ops.tilewright.forward,
        (q, k, v, [c], [int(n) for n in numbers], [], [], [], [], text, None, True, True, False, False),
        **({"atol": 2e-2, "rtol": 2e-2} if ON_GPU else {}),
    )


def test_compiled_training():
    c = torch.randn(4, requires_grad=True)

    def attend(q, k, v, window):
        return flex_attention(
            q, k, v, lambda s, b, h, i, j: s * c[h], mask_mod=lambda b, h, i, j: (i - j).abs() < window
        )

    q, k, v = operands(dtype=SINGLE, Hkv=4)
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    for window in (3, 5, 9):
        want = torch.autograd.grad(attend(q, k, v, window).square().sum(), (q, k, v, c))
        got = torch.autograd.grad(compiled(q, k, v, window).square().sum(), (q, k, v, c))
        for a, b in zip(got, want):
            same(a, b, 1e-5, 1e-4)


def test_a_block_mask_trains():
    q, k, v = operands(S=64, Hkv=4)
    mask = create_block_mask(CAUSAL, None, None, 64, 64, device=DEVICE)
    flex_attention(q, k, v, block_mask=mask).sum().backward()
    assert all(torch.isfinite(t.grad).all() for t in (q, k, v))
