"""torch's functions, methods and tensors inside mods, beside torch on numbers."""

import pytest
import torch

import tilewright as tw
from tilewright._trace import trace
from tilewright.torch import flex_attention, register_op

UNARY = [
    "tanh", "exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "atan", "erf", "erfc", "sigmoid",
    "relu", "floor", "ceil", "round", "trunc", "sign", "abs", "neg", "square", "reciprocal", "isnan",
    "isfinite", "logical_not",
]  # fmt: skip
POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt"]
BINARY = ["add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "maximum", "minimum", "eq", "lt", "ge",
          "hypot", "logaddexp", "logical_and", "logical_or", "logical_xor"]  # fmt: skip
FUNCTIONAL = ["relu", "gelu", "silu", "softplus", "elu", "leaky_relu", "logsigmoid", "hardtanh"]
SCORES = torch.tensor([-2.25, -0.5, 0.75, 1.5], dtype=torch.float64)


def check(mod, scores=SCORES):
    program = trace(mod, None).program
    for s in scores:
        want = mod(s, *(torch.tensor(n) for n in (1, 2, 9, 4)))
        assert program.score_at(float(s), (1, 2, 9, 4))[0] == pytest.approx(float(want), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    check(lambda s, b, h, q, kv: getattr(torch, name)(s) + 0.0)
    if name not in ("relu", "erfc"):
        check(lambda s, b, h, q, kv: getattr(s, name)() + 0.0)


@pytest.mark.parametrize("name", POSITIVE)
def test_unary_of_positive(name):
    check(lambda s, b, h, q, kv: getattr(torch, name)(s), SCORES.abs())


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    check(lambda s, b, h, q, kv: getattr(torch, name)(s, 0.75 * s.sign() + 0.5) + 0.0)


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name):
    check(lambda s, b, h, q, kv: getattr(torch.nn.functional, name)(s))


def test_positions():
    check(lambda s, b, h, q, kv: s + torch.bitwise_and(q, kv) + (q << 1) + torch.floor_divide(q - 20, 3) + q % 4)
    check(lambda s, b, h, q, kv: s + torch.div(q - 20, 3, rounding_mode="trunc") + (kv - q).float() / 3)


def test_selections():
    check(lambda s, b, h, q, kv: torch.where(q > kv, s, -s).clamp(-1, 1) + torch.clamp_min(s, 0.1))
    check(lambda s, b, h, q, kv: s.masked_fill(s > 0, 4.0) + torch.zeros_like(s) + s.new_full((), 2.0))


def test_answers_of_a_tensor():
    def mod(s, b, h, q, kv):
        assert s.ndim == 0 and s.shape == () and s.dim() == 0 and not s.requires_grad
        assert s.dtype.is_floating_point and q.device.type == "cpu"
        return s.to(torch.float32).type_as(s) * q.new_ones((), dtype=torch.float32) + q.to(s.dtype).float()

    check(mod)


GLOBAL = torch.arange(20.0)


def test_tensors_under_symbols():
    bias, deep, half = torch.randn(3, 20, 20), torch.randint(0, 20, (20,)), torch.rand(20).half()
    scalar, one = torch.tensor(1.5), torch.tensor([0.5])
    check(lambda s, b, h, q, kv: s + bias[h, q, kv] + bias[h][q][kv] + GLOBAL[q] + GLOBAL[deep[kv]])
    check(lambda s, b, h, q, kv: s * scalar + one + scalar * s - one / (s + 5) + half[q].float().log())
    check(lambda s, b, h, q, kv: s + torch.dot(bias[h, q], bias[h, kv]) + (bias[h, q] * GLOBAL).sum(-1))
    check(lambda s, b, h, q, kv: s + bias[..., kv][h, q] + bias[:, 2][h, kv] + bias[h, q, -1])
    flags = torch.rand(20) > 0.5
    check(lambda s, b, h, q, kv: s + flags[q])


def test_refusals_name_the_construct():
    outer = torch.zeros(4)

    def stores(s, b, h, q, kv):
        outer[0] = s
        return s

    bad = {"pure": stores, "rand_like": lambda s, *_: s + torch.rand_like(s), "add_": lambda s, *_: s.add_(1),
           "matmul": lambda s, *_: torch.matmul(s, s), "one value": lambda s, *_: s + outer}  # fmt: skip
    for text, mod in bad.items():
        with pytest.raises(tw.TraceError, match=text) as caught:
            trace(lambda s, b, h, q, kv, mod=mod: mod(s, b, h, q, kv), None)
        assert text == "one value" or "test_torch_tracing.py:" in caught.value.where
    assert (outer == 0).all()


def test_registered_operations():
    class Approximate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.tanh(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    register_op(Approximate, lambda x: torch.tanh(x))
    check(lambda s, b, h, q, kv: Approximate.apply(s))
    library = torch.library.Library("tilewright_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    register_op(torch.ops.tilewright_test.twice, lambda x: x + x)
    check(lambda s, b, h, q, kv: torch.ops.tilewright_test.twice(s))


def test_index_errors_name_the_capture():
    short = torch.arange(10)
    q = torch.randn(1, 1, 30, 8)
    with torch.no_grad(), pytest.raises(tw.IndexOutOfRangeError, match="short"):
        flex_attention(q, q, q, mask_mod=lambda b, h, q, kv: short[kv] % 2 == 0)
