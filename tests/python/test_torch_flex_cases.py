"""The cases of PyTorch's flex_attention tests, in our words: variants, shapes, strides, with gradients."""

import pytest
import torch
from dense import assert_stats
from devices import DEVICE, ON_GPU
from flex_reference import NOTHING, check, dense, leaves, operands

import tilewright as tw
from tilewright.torch import AuxRequest, create_block_mask, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731
SCORES = {
    "identity": lambda s, b, h, q, kv: s,
    "times two": lambda s, b, h, q, kv: s * 2,
    "squared": lambda s, b, h, q, kv: s * s,
    "causal": lambda s, b, h, q, kv: torch.where(q >= kv, s, NOTHING),
    "inverse causal": lambda s, b, h, q, kv: torch.where(q <= kv, s, NOTHING),
    "relative": lambda s, b, h, q, kv: s + (q - kv),
    "relative causal": lambda s, b, h, q, kv: torch.where(q >= kv, s + (q - kv), NOTHING),
    "alibi": lambda s, b, h, q, kv: s + (kv - q) * torch.exp2(-((h + 1) * 8.0 / 4)),
    "head bias": lambda s, b, h, q, kv: s + 2 * h,
    "soft cap": lambda s, b, h, q, kv: 2.0 * torch.tanh(s / 2.0),
    "trigonometric": lambda s, b, h, q, kv: torch.sin(s) + torch.cos(kv * 0.5) * 0.25,
    "logarithm": lambda s, b, h, q, kv: torch.log(torch.nn.functional.relu(s) + 1),
}
MASKS = {
    "causal": CAUSAL,
    "window": lambda b, h, q, kv: (q >= kv) & (q - kv <= 60),
    "odd keys": lambda b, h, q, kv: kv % 2 == 1,
    "per head": lambda b, h, q, kv: (q >= kv) & ((h % 2 == 0) | (q - kv < 33)),
    "empty rows": lambda b, h, q, kv: (q >= 10) & (q < 50) & (kv < 70),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_scores(name, dtype):
    check(*operands(S=96, dtype=dtype), SCORES[name])


@pytest.mark.parametrize("block", [128, 256, (128, 256), (256, 128), 64, 32, (32, 64), (64, 32)], ids=str)
@pytest.mark.parametrize("name", ["causal", "window", "odd keys"])
def test_block_sizes(name, block):
    check(*operands(B=1, H=2, S=259, D=16), SCORES["soft cap"], MASKS[name], block=block)


@pytest.mark.parametrize("name", MASKS)
def test_lists_made_by_torch_decide(name):
    from torch.nn.attention.flex_attention import create_block_mask as theirs

    q, k, v = operands(B=2, H=4, S=160, D=16)
    mask = theirs(MASKS[name], 2, 4, 160, 160, device=DEVICE, BLOCK_SIZE=32)
    # Entries past a count mean nothing; here they would leave every table.
    for counts, kept in ((mask.kv_num_blocks, mask.kv_indices), (mask.full_kv_num_blocks, mask.full_kv_indices)):
        kept[torch.arange(kept.size(-1)) >= counts[..., None]] = 1 << 30
    out = flex_attention(q, k, v, block_mask=mask)
    torch.testing.assert_close(out, dense(q, k, v, None, MASKS[name])[0], atol=2e-6, rtol=2e-5)


@pytest.mark.parametrize("heads", [(4, 2), (4, 1), (16, 4), (9, 3), (12, 4), (7, 1)], ids=str)
@pytest.mark.parametrize("name", ["alibi", "relative causal"])
def test_grouped_heads(name, heads):
    check(*operands(B=2, H=heads[0], Hkv=heads[1], S=70, D=16), SCORES[name], MASKS["window"])


@pytest.mark.parametrize("batch", [3, 4, 5])
def test_keys_shared_by_the_batch(batch):
    per_batch = lambda b, h, q, kv: q + b * 3 >= kv  # noqa: E731
    check(*operands(B=batch, Bkv=1, H=2, S=65, D=16), SCORES["relative"], per_batch)
    check(*operands(B=batch, Bkv=1, H=4, Hkv=2, S=65, D=16), None, per_batch, block=32, batch_mask=(batch, None))


@pytest.mark.parametrize(
    "dims", [(64, 32), (32, 64), (17, 17), (24, 24), (94, 94), (121, 121), (13, 5), (192, 128), (512, 256)], ids=str
)
def test_head_dims(dims):
    # fp32 beyond 256 has no gradients on a GPU (docs/kernels/portable_backward.md).
    served = not ON_GPU or max(dims) <= 256
    check(*operands(B=1, H=2, S=65, D=dims[0], Dv=dims[1]), SCORES["soft cap"], CAUSAL, gradients=served)
    if not served:
        half = operands(B=1, H=2, S=65, D=dims[0], Dv=dims[1], dtype=torch.float16)
        check(*half, SCORES["soft cap"], CAUSAL)


@pytest.mark.parametrize(
    "lengths",
    [(1, 1), (2, 2), (11, 11), (127, 127), (243, 243), (253, 253), (255, 255), (259, 259), (383, 383), (511, 511),
     (1023, 1023), (196, 96), (96, 196), (256, 512), (512, 256), (128, 1024), (1, 257)],
    ids=str,
)  # fmt: skip
def test_lengths(lengths):
    check(*operands(B=1, H=2, S=lengths[0], KV=lengths[1], D=16), SCORES["alibi"], MASKS["window"])


def arranged(tensor, kind):
    """The same values at other strides."""
    B, H, S, D = tensor.shape
    if kind == "transposed":
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    if kind == "padded":
        return torch.nn.functional.pad(tensor, (0, 11, 0, 3, 0, 1))[:, :H, :S, :D]
    if kind == "offset":
        room = torch.zeros(tensor.numel() + 997, dtype=tensor.dtype)
        room[997:] = tensor.flatten()
        return room[997:].view(B, H, S, D)
    if kind == "column-major":
        return tensor.mT.contiguous().mT
    if kind == "permuted":
        return tensor.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)
    return tensor.flip(2).contiguous().flip(2)


@pytest.mark.parametrize("kind", ["transposed", "padded", "offset", "column-major", "permuted", "flipped"])
@pytest.mark.parametrize("which", ["q", "k", "v", "all"])
def test_strides(kind, which):
    tensors = operands(B=2, H=2, S=67, D=16, dtype=torch.float16)
    given = [arranged(t, kind) if which in ("all", name) else t for name, t in zip("qkv", tensors)]
    assert all(torch.equal(a, b) for a, b in zip(given, tensors))
    out = check(*given, SCORES["soft cap"], CAUSAL)
    plain = flex_attention(*tensors, SCORES["soft cap"], mask_mod=CAUSAL)
    # On a GPU strides choose the kernel, and kernels add up in orders of their own.
    assert torch.allclose(out, plain, rtol=2e-3, atol=2e-3) if ON_GPU else torch.equal(out, plain)
    assert out.stride(-1) == 1


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 1, 0, 3), (1, 0, 2, 3)], ids=str)
def test_gradients_have_the_stride_order_of_their_tensors(order):
    shape = (2, 3, 40, 16)
    place = [order.index(axis) for axis in range(4)]
    tensors = [torch.randn([shape[a] for a in order]).permute(place).requires_grad_() for _ in range(3)]
    out = flex_attention(*tensors)
    out.sum().backward()
    by_stride = lambda t: sorted(range(4), key=lambda axis: -t.stride(axis))  # noqa: E731
    for tensor in tensors:
        assert tensor.grad.shape == tensor.shape
        assert by_stride(tensor.grad) == by_stride(tensor)
    assert by_stride(out) == by_stride(tensors[0])


@pytest.mark.cpu_only("finite differences need fp64")
@pytest.mark.parametrize("name", ["identity", "relative causal", "soft cap"])
def test_finite_differences(name):
    given = leaves(operands(B=1, H=2, S=11, D=4, dtype=torch.float64))

    def attend(*tensors):
        out, aux = flex_attention(*tensors, SCORES[name], mask_mod=CAUSAL, return_aux=AuxRequest(lse=True))
        return out, aux.lse

    assert torch.autograd.gradcheck(attend, given)


def test_many_small_problems():
    check(*operands(B=700, H=3, S=16, D=8), SCORES["alibi"], CAUSAL)


def test_more_keys_than_fit_16_million():
    kv_len = (1 << 24) + 1024
    q = torch.randn(1, 1, 1, 8)
    key = torch.zeros(1, 1, 1, 8).expand(1, 1, kv_len, 8)
    value = torch.ones(1, 1, 1, 8).expand(1, 1, kv_len, 8)
    last = lambda b, h, q, kv: kv >= kv_len - 100  # noqa: E731
    out, aux = flex_attention(q, key, value, mask_mod=last, return_aux=AuxRequest(lse=True))
    torch.testing.assert_close(out, torch.ones(1, 1, 1, 8))
    torch.testing.assert_close(aux.lse, torch.full((1, 1, 1), 100.0).log())


def test_padding_does_not_change_a_bit():
    q, k, v = operands(B=1, H=2, S=200, D=32, dtype=torch.float16)
    wide = [torch.nn.functional.pad(t, (0, 0, 0, 56)) for t in (q, k, v)]
    options = dict(device=DEVICE, separate_full_blocks=False)
    short = flex_attention(q, k, v, block_mask=create_block_mask(CAUSAL, None, None, 200, 200, **options))
    long = flex_attention(*wide, block_mask=create_block_mask(CAUSAL, None, None, 256, 256, **options))
    assert torch.equal(short, long[:, :, :200])


@pytest.mark.parametrize("name", ["soft cap", "alibi", "squared"])
def test_halves_merge_by_lse(name):
    q, k, v = operands(S=70, KV=140, D=16)
    aux = AuxRequest(lse=True)
    parts = []
    for start in (0, 70):
        score = lambda s, b, h, q, kv, start=start: SCORES[name](s, b, h, q, kv + start)  # noqa: E731
        out, extra = flex_attention(q, k[:, :, start : start + 70], v[:, :, start : start + 70], score, return_aux=aux)
        parts.append((out, extra.lse))
    whole, extra = flex_attention(q, k, v, SCORES[name], return_aux=aux)
    lse = torch.stack([p[1] for p in parts])
    weights = (lse - lse.logsumexp(0)).exp()
    merged = sum(w[..., None] * p[0] for w, p in zip(weights, parts))
    torch.testing.assert_close(merged, whole, atol=2e-6, rtol=2e-5)
    assert_stats(lse.logsumexp(0), extra.lse)


def test_max_scores_are_exact():
    q, k, v = operands(S=50, D=16)
    _, aux = flex_attention(q, k, v, SCORES["relative"], mask_mod=CAUSAL, return_aux=AuxRequest(max_scores=True))
    s = SCORES["relative"](q.double() @ k.double().mT / 4, 0, 0, torch.arange(50)[:, None], torch.arange(50))
    assert_stats(aux.max_scores, s.masked_fill(torch.ones(50, 50).triu(1).bool(), NOTHING).amax(-1))
    assert not aux.max_scores.requires_grad


def test_lengths_and_numbers_do_not_compile():
    window = 31
    mask = lambda b, h, q, kv: (q >= kv) & (q - kv <= window)  # noqa: E731
    call = lambda S, B=2: check(*operands(B=B, H=2, S=S, D=16), SCORES["alibi"], mask, gradients=False)  # noqa: E731
    call(1024)
    before = tw.stats()["compiles"]
    for S in (512, 256, 127, 509):
        window += 5
        call(S, B=1 + S % 3)
    assert tw.stats()["compiles"] == before


def test_several_calls_in_one_graph():
    q, k, v = operands(S=64, D=16)

    @torch.compile(backend="aot_eager", fullgraph=True)
    def twice(q, k, v):
        first = flex_attention(q, k, v, SCORES["soft cap"], mask_mod=CAUSAL)
        second = flex_attention(first, k, v, SCORES["squared"])
        return flex_attention(q, second, first + v).cos()

    first = dense(q, k, v, SCORES["soft cap"], CAUSAL)[0]
    second = dense(first, k, v, SCORES["squared"])[0]
    torch.testing.assert_close(twice(q, k, v), dense(q, second, first + v)[0].cos(), atol=2e-5, rtol=2e-4)


@pytest.mark.cpu_only("a GPU adds in any order, unless deterministic= asks for more")
def test_gradients_repeat_bit_for_bit():
    tensors = operands(B=2, H=4, Hkv=2, S=130, D=32)
    bias = torch.randn(4, 40)
    runs = []
    for _ in range(3):
        given = leaves((*tensors, bias))
        out = flex_attention(*given[:3], lambda s, b, h, q, kv: s + given[3][h, (q * kv) % 40], enable_gqa=True)
        runs.append([out, *torch.autograd.grad(out.square().sum(), given)])
    for other in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], other))
