"""What went wrong for others, by its id: freshness, strides, head dims, dtypes, results, gradients asked for."""

import itertools
import math

import pytest
import torch
from dense_torch import dense, gradients, operands, same
from devices import DEVICE, LEARNING, ON_GPU, generator

import tilewright as tw
from tilewright.torch import AuxRequest, flash_attn_func, flash_attn_varlen_func, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def check(inputs, score=None, mask=None, atol=1e-9, **options):
    out, want = flex_attention(*inputs, score, mask_mod=mask, **options), dense(*inputs, score, mask)[0]
    same(out, want, atol, max(1e-7, atol))
    for a, b in zip(gradients(out, inputs), gradients(want, inputs)):
        same(a, b, 10 * atol, max(1e-7, 10 * atol))


def test_C005_C012_scores_far_from_zero():
    v = torch.randn(1, 1, 64, 16)
    for level in (-1e3, -4e4, -2.45e5):
        q, k = torch.zeros(1, 1, 4, 16), torch.zeros(1, 1, 64, 16)
        q[..., 0], k[..., 0], k[..., 0, 0] = 1.0, level, level + 5000
        out, aux = flex_attention(q, k, v, scale=1.0, return_aux=AuxRequest(lse=True))
        same(out, v[:, :, :1].expand_as(out), 1e-6 if ON_GPU else 0, 0)
        same(aux.lse, torch.full((1, 1, 4), level + 5000), 0, 1e-6)
    q, k, v = operands(dtype=torch.float32, grad=False)
    plain = flex_attention(q, k, v)
    same(flex_attention(q, k, v, lambda s, *_: s + 2000.0), plain, 1e-5 + 4 * 2000 * 2**-24)


def test_C010_half_products_do_not_overflow():
    q = torch.full((1, 1, 8, 192), 20.0, dtype=torch.float16)
    v = torch.randn(1, 1, 8, 16).half()
    out, aux = flex_attention(q, q, v, return_aux=AuxRequest(lse=True))
    same(out.float(), v.float().mean(2, keepdim=True).expand_as(out), 1e-3)
    same(aux.lse, torch.full((1, 1, 8), 76800 / math.sqrt(192) + math.log(8)), 1e-1, 1e-5)


def test_C014_lazy_rescaling_of_masked_tiles():
    ones = torch.ones(1, 1, 640, 4)
    out = flex_attention(ones, ones, ones, mask_mod=lambda b, h, i, j: (i - 10 < j) & (j <= i))
    same(out, ones, 1.2e-7)


@pytest.mark.parametrize("lengths", [(63, 64), (64, 50), (100, 77)])
def test_C019_C021_lengths_of_any_size(lengths):
    table = torch.rand(lengths, generator=generator(4)) > 0.5
    table[3] = False
    check(operands(H=4, S=lengths[0], KV=lengths[1]), None, lambda b, h, i, j: table[i, j])


def test_C078_numbers_are_those_of_the_call():
    c = 1.0
    score = lambda s, b, h, i, j: torch.clamp(s, -c, c)  # noqa: E731
    inputs = operands()
    outputs = []
    for c in (1.0, 0.5, 2.0, 0.5):  # noqa: B007
        check(inputs, score)
        value = c
        check(inputs, lambda s, b, h, i, j, value=value: torch.clamp(s, -value, value))
    c = 0.5
    out, want = flex_attention(*inputs, score), dense(*inputs, score)[0]
    outputs = gradients(want, inputs)
    c = 2.0
    for a, b in zip(gradients(out, inputs), outputs):
        same(a, b)


def test_C084_the_batch_shrinks():
    cut = torch.tensor([3, 9, 17, 20, 1, 5, 8, 40])
    q, k, v = operands(B=8, grad=False)
    mask = lambda b, h, i, j: j < cut[b]  # noqa: E731
    whole = flex_attention(q, k, v, mask_mod=mask)
    assert torch.equal(flex_attention(q[:5], k[:5], v[:5], mask_mod=mask), whole[:5])


def test_C085_gradients_of_slices():
    q = torch.randn(1, 2, 96, 16)
    base = [torch.randn(1, 2, 96, 16, requires_grad=True) for _ in range(2)]
    cut = [t[:, :, :-32] for t in base]
    flex_attention(q, *cut).sum().backward()
    clones = [t.detach().clone().requires_grad_() for t in cut]
    flex_attention(q, *clones).sum().backward()
    for t, clone in zip(base, clones):
        assert torch.equal(t.grad[:, :, :-32], clone.grad) and (t.grad[:, :, -32:] == 0).all()


def test_C087_expanded_gradients():
    inputs = operands()
    out = flex_attention(*inputs)
    for a, b in zip(torch.autograd.grad(out.sum(), inputs, retain_graph=True), gradients(out, inputs)):
        assert torch.equal(a, b)


def test_C089_views_of_one_buffer():
    packed = torch.randn(2, 30, 3 * 4 * 8, dtype=LEARNING, requires_grad=True)
    split = lambda: tuple(t.reshape(2, 30, 4, 8).transpose(1, 2) for t in packed.split(32, -1))  # noqa: E731
    (a,) = torch.autograd.grad(flex_attention(*split(), mask_mod=CAUSAL).square().sum(), packed)
    (b,) = torch.autograd.grad(dense(*split(), None, CAUSAL)[0].square().sum(), packed)
    same(a, b)


def test_C091_one_tensor_three_times():
    x = torch.randn(1, 2, 30, 8, dtype=LEARNING, requires_grad=True)
    (a,) = torch.autograd.grad(flex_attention(x, x, x).sum(), x)
    clones = [x.detach().clone().requires_grad_() for _ in range(3)]
    same(a, sum(gradients(flex_attention(*clones), clones)))


def test_C092_C093_layouts():
    for flags in itertools.product([False, True], repeat=4):
        tensors = []
        for flag in flags:
            shape = (1, 33, 2, 8) if flag else (1, 2, 33, 8)
            t = torch.randn(shape, dtype=LEARNING)
            tensors.append((t.transpose(1, 2) if flag else t).detach().requires_grad_())
        *inputs, up = tensors
        out, want = flex_attention(*inputs), dense(*inputs)[0]
        for a, b in zip(gradients(out, inputs, up.detach()), gradients(want, inputs, up.detach())):
            same(a, b)
    q = torch.randn(1, 1, 1, 2).transpose(2, 3)
    k = torch.as_strided(torch.randn(1), (1, 1, 1, 1), (2**31 + 7,) * 4)
    v = torch.randn(1, 1, 1, 1)
    out, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True))
    same(out, v.expand_as(out), 1e-6 if ON_GPU else 0, 0)
    same(aux.lse, (q * k)[..., 0])


@pytest.mark.parametrize("dims", [(128, 512), (64, 128), (31, 31), (17, 3), (1, 1), (8, 16), (72, 96), (176, 40)])
def test_C094_C096_C097_C098_any_head_dims(dims):
    D, Dv = dims
    inputs = operands(S=20, D=D, Dv=Dv)
    check(inputs, None, CAUSAL)
    wide = [torch.full((*t.shape[:-1], t.size(-1) + 1), torch.nan, dtype=t.dtype) for t in inputs]
    views = []
    for buffer, t in zip(wide, inputs):
        buffer[..., :-1] = t.detach()
        views.append(buffer[..., :-1])
    assert torch.equal(flex_attention(*views), flex_attention(*(t.detach() for t in inputs)))


@pytest.mark.parametrize("scale", [None, 0, -0.3, 1, 2.0])
def test_C100_scales(scale):
    inputs = operands(S=20, D=96)
    same(flex_attention(*inputs, scale=scale), dense(*inputs, scale=scale)[0])


def test_C113_C119_cache_slots_that_are_not_used():
    cache = torch.randn(1, 2, 64, 16)
    q = torch.randn(1, 2, 1, 16)
    want = flex_attention(q, cache[:, :, :21], cache[:, :, :21])
    results = []
    for filling in (0.0, 1e4):
        full = cache.clone()
        full[:, :, 21:] = filling
        results.append(flex_attention(q, full, full, mask_mod=lambda b, h, i, j: j <= 20))
    assert torch.equal(results[0], results[1])
    same(results[0], want, 1e-6)


def test_C131_packed_sequences_aligned_at_their_ends():
    q_ends, k_ends = torch.tensor([0, 76, 110, 256]), torch.tensor([0, 1, 2, 3])
    q, k, v = (torch.randn(n, 2, 8, requires_grad=True) for n in (256, 3, 3))
    out, lse = flash_attn_varlen_func(q, k, v, q_ends, k_ends, causal=True, return_lse=True)
    last = q_ends[1:] - 1
    others = torch.ones(256, dtype=torch.bool)
    others[last] = False
    same(out[last], v, 1e-6)
    assert (out[others] == 0).all() and torch.isneginf(lse[:, others]).all()
    up = torch.randn_like(out)
    grads = gradients(out, (q, k, v), up)
    same(grads[0], torch.zeros_like(q), 1e-6 if ON_GPU else 0, 0)
    same(grads[2], up[last], 1e-6)


def test_C133_windows_that_mean_causal():
    q, k, v = (torch.randn(1, 130, 2, 16) for _ in range(3))
    want = flash_attn_func(q, k, v, causal=True)
    for window in ((129, 0), (130, 0), (-1, 0)):
        assert torch.equal(flash_attn_func(q, k, v, window_size=window), want)


def test_C137_documents_do_not_touch():
    document = torch.tensor([0] * 30 + [1] * 40 + [2] * 30)
    mask = lambda b, h, i, j: document[i] == document[j]  # noqa: E731
    q, k, v = operands(S=100, dtype=torch.float32)
    runs = []
    for change in (0, 1):
        inputs = [t.detach().clone() for t in (q, k, v)]
        for t in inputs:
            t[:, :, :30] += change
            t.requires_grad_()
        out = flex_attention(*inputs, mask_mod=mask)
        runs.append([t[:, :, 30:] for t in (out, *gradients(out, inputs))])
    assert all(torch.equal(a, b) for a, b in zip(*runs))


@pytest.mark.cpu_only("a GPU reads 0 there: errors are for its checked mode")
def test_C140_tables_of_another_problem():
    q, k, v = operands(S=10, KV=20, grad=False)
    for shape in ((10, 15), (20, 10)):
        table = torch.ones(shape, dtype=torch.bool)
        with pytest.raises(tw.IndexOutOfRangeError, match="table"):
            flex_attention(q, k, v, mask_mod=lambda b, h, i, j: table[i, j])


def test_C141_C147_lse_and_maxima():
    q, k, v = operands(H=8, Hkv=2, S=40, dtype=torch.bfloat16, grad=False)
    out, aux = flex_attention(q, k, v, lambda s, b, h, i, j: s * 2, mask_mod=lambda b, h, i, j: i > j,
                              enable_gqa=True, return_aux=AuxRequest(True, True))  # fmt: skip
    wide = [t.double() for t in (q, k, v)]
    s = 2 * (wide[0] @ wide[1].repeat_interleave(4, 1).mT) / 8**0.5
    s = s.masked_fill(~torch.ones(40, 40).tril(-1).bool(), -torch.inf)
    assert aux.lse.shape == (1, 8, 40) and aux.lse.dtype == torch.float32
    same(aux.lse, s.logsumexp(-1), 1e-5, 1e-5)
    same(aux.max_scores, s.amax(-1), 1e-5, 1e-5)
    assert torch.isneginf(aux.max_scores[..., 0]).all() and not aux.max_scores.requires_grad


def test_C143_merging_with_nothing():
    some = tw.Result(torch.randn(1, 2, 8, 4), torch.randn(1, 2, 8))
    nothing = tw.Result(torch.zeros(1, 2, 8, 4), torch.full((1, 2, 8), -math.inf))
    merged = tw.merge_partials(some, nothing)
    assert torch.equal(merged.out, some.out) and torch.equal(merged.lse, some.lse)
    merged = tw.merge_partials(nothing, nothing)
    assert (merged.out == 0).all() and torch.isneginf(merged.lse).all()


def test_C145_sinks_by_lse():
    q, k, v = operands(H=4)
    sink = torch.randn(4, dtype=LEARNING, requires_grad=True)

    def run(attend):
        out, lse = attend()
        return out * torch.exp(lse - torch.logaddexp(lse, sink[:, None]))[..., None]

    def ours():
        out, aux = flex_attention(q, k, v, mask_mod=CAUSAL, return_aux=AuxRequest(lse=True))
        return out, aux.lse

    got, want = run(ours), run(lambda: dense(q, k, v, None, CAUSAL))
    same(got, want)
    for a, b in zip(gradients(got, (q, k, v, sink)), gradients(want, (q, k, v, sink))):
        same(a, b)


def test_C149_the_same_bits_every_time():
    inputs = operands(B=2, H=4, S=256, D=16, dtype=torch.bfloat16)
    up = torch.randn(2, 4, 256, 16, dtype=torch.bfloat16)
    runs = []
    for _ in range(10):
        out = flex_attention(*inputs, mask_mod=CAUSAL)
        runs.append((out, *gradients(out, inputs, up)))
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(run, runs[0]))


def test_C160_mixed_dtypes_need_autocast():
    q, k, v = operands(dtype=torch.float32, grad=False)
    with pytest.raises(ValueError, match="f16|half|dtype"):
        flex_attention(q.half(), k, v)
    with torch.autocast(DEVICE, torch.float16):
        assert flex_attention(q.half(), k, v).dtype == torch.float16


def test_C162_single_precision_is_single_precision():
    q, k, v = operands(S=200, D=64, dtype=torch.float32, grad=False)
    want = dense(*(t.double() for t in (q, k, v)))[0]
    same(flex_attention(q, k, v), want, 1e-6, 1e-5)


@pytest.mark.cpu_only("finite differences need fp64")
def test_C164_finite_differences():
    inputs = operands(S=6, D=3)
    bias = torch.randn(2, 6, dtype=LEARNING, requires_grad=True)

    def run(q, k, v, bias):
        out, aux = flex_attention(q, k, v, lambda s, b, h, i, j: torch.tanh(s) + bias[h, j], mask_mod=CAUSAL,
                                  return_aux=AuxRequest(lse=True))  # fmt: skip
        return out, aux.lse

    assert torch.autograd.gradcheck(run, (*inputs, bias))
