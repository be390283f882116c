"""tilewright.torch on a GPU: streams, captured tensors, gradients, graphs. Skipped without one."""

import dense_torch
import pytest
import torch

import tilewright as tw
from tilewright.torch import (
    AuxRequest,
    BlockMask,
    create_block_mask,
    flex_attention,
    scaled_dot_product_attention,
)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that torch can use")

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def operands(S=256, KV=None, B=2, H=4, Hkv=4, D=64, dtype=torch.bfloat16, grad=False):
    make = lambda *shape: torch.randn(*shape, dtype=dtype, device="cuda", requires_grad=grad)  # noqa: E731
    return make(B, H, S, D), make(B, Hkv, KV or S, D), make(B, Hkv, KV or S, D)


def dense(q, k, v, *mods):
    """out and lse in fp64."""
    return dense_torch.dense(q.double(), k.double(), v.double(), *mods)


def close(got, want, eps=2e-2):
    """Largest error against the largest value: what 16-bit inputs allow."""
    error = (got.double() - want.double()).abs().max().item()
    assert error <= eps * max(1e-6, want.abs().max().item()), error


def check(inputs, score=None, mask=None, captures=(), eps=2e-2):
    out, aux = flex_attention(
        *inputs, score, enable_gqa=True, mask_mod=mask, return_aux=AuxRequest(lse=True)
    )
    want, lse = dense(*inputs, score, mask)
    close(out, want, eps)
    live = torch.isfinite(lse)
    assert torch.equal(torch.isfinite(aux.lse), live)
    close(aux.lse[live], lse[live], 1e-2)
    tracked = [t for t in (*inputs, *captures) if t.requires_grad]
    if tracked:
        up = torch.randn_like(out)
        got = torch.autograd.grad((out * up).sum(), tracked)
        expected = torch.autograd.grad((want * up.double()).sum(), tracked)
        for a, b in zip(got, expected):
            assert a.dtype == b.dtype and a.shape == b.shape
            close(a, b, 2 * eps)


BIAS = torch.randn(4, 512)
SLOPES = torch.rand(4)


def on_gpu(t):
    return t.cuda()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("mask", [None, CAUSAL, lambda b, h, q, kv: (q >= kv) & (q - kv < 100)])
def test_forward(dtype, mask):
    check(operands(dtype=dtype), None, mask)
    check(operands(S=130, KV=77, H=4, Hkv=2, dtype=dtype), None, mask and (lambda b, h, q, kv: (kv - q) % 3 != 1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients(dtype):
    check(operands(dtype=dtype, grad=True), None, CAUSAL)
    check(operands(S=200, Hkv=2, D=128, dtype=dtype, grad=True), lambda s, b, h, q, kv: 5 * torch.tanh(s / 5), CAUSAL)


def test_captured_tensors_and_numbers():
    bias, slopes, scalar = on_gpu(BIAS), on_gpu(SLOPES), torch.tensor(0.5, device="cpu")
    check(operands(), lambda s, b, h, q, kv: s + bias[h, q] * 0.25 - slopes[h] * (q - kv).abs())
    check(operands(), lambda s, b, h, q, kv: s * scalar, CAUSAL)
    document = (torch.arange(512, device="cuda") // 50).int()
    check(operands(S=300, grad=True), None, lambda b, h, q, kv: document[q] == document[kv])


def test_gradients_with_captured_tensors_that_need_none():
    slopes = on_gpu(SLOPES)
    check(operands(grad=True), lambda s, b, h, q, kv: s - slopes[h] * (q - kv).abs(), CAUSAL)


def test_block_masks():
    mask = create_block_mask(CAUSAL, None, None, 256, 256)
    assert mask.device.type == "cuda"
    inputs = operands()
    close(flex_attention(*inputs, block_mask=mask), dense(*inputs, None, CAUSAL)[0])
    with pytest.raises(RuntimeError, match="same device"):
        flex_attention(*inputs, block_mask=create_block_mask(CAUSAL, None, None, 256, 256, device="cpu"))


def test_training_under_lists_walks_them():
    """Lists of another mask than the mask_mod says: kernels that ignored them would give other gradients."""
    made = create_block_mask(lambda b, h, q, kv: (q // 64 + kv // 64) % 3 != 1, None, None, 256, 256, BLOCK_SIZE=64)
    lists = BlockMask.from_kv_blocks(made.kv_num_blocks, made.kv_indices, made.full_kv_num_blocks,
                                     made.full_kv_indices, BLOCK_SIZE=64, seq_lengths=(256, 256))  # fmt: skip
    kept = lambda b, h, q, kv: (q // 64 + kv // 64) % 3 != 1  # noqa: E731
    slopes = torch.randn(4, device="cuda", requires_grad=True)
    for score, captures in ((None, ()), (lambda s, b, h, q, kv: s * slopes[h], (slopes,))):
        inputs = operands(grad=True)
        before = tw.stats()["kernels"]
        out = flex_attention(*inputs, score, lists)
        want = dense(*inputs, score, kept)[0]
        up = torch.randn_like(out)
        for a, b in zip(torch.autograd.grad(out, (*inputs, *captures), up),
                        torch.autograd.grad(want, (*inputs, *captures), up.double())):  # fmt: skip
            close(a, b, 4e-2)
        ran = [name for name, calls in tw.stats()["kernels"].items() if calls != before.get(name, 0)]
        assert len(ran) == 2 and all("lists" in name for name in ran), ran


def test_other_entries():
    q, k, v = operands()
    got = scaled_dot_product_attention(q, k, v, is_causal=True)
    close(got, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))


def test_devices_may_not_mix():
    q, k, v = operands()
    table = torch.randn(4, device="cpu")
    with pytest.raises(tw.InvalidArgumentError, match="table|device") as caught:
        flex_attention(q, k, v, lambda s, b, h, i, j: s + table[h])
    assert "cuda" in str(caught.value) and "cpu" in str(caught.value)
    with pytest.raises(tw.InvalidArgumentError, match="key"):
        flex_attention(q, k.cpu(), v)


def test_work_goes_to_the_current_stream():
    inputs = operands(S=1024, B=1)
    want = flex_attention(*inputs, mask_mod=CAUSAL)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        late = [t.clone() for t in inputs]
        out = flex_attention(*late, mask_mod=CAUSAL)
        # Nothing waited for the sleep, so the call was enqueued behind it.
        assert not side.query()
    side.synchronize()
    assert torch.equal(out, want)


def test_an_explicit_stream():
    inputs = operands()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    got = tw.attention(*inputs, mask_mod=CAUSAL, stream=side)
    number = tw.attention(*inputs, mask_mod=CAUSAL, stream=side.cuda_stream)
    prepared = tw.prepare(*inputs, mask_mod=CAUSAL)
    third = prepared(*inputs, stream=side)
    side.synchronize()
    assert torch.equal(got, number) and torch.equal(got, third)


def test_arrays_of_other_libraries():
    cupy = pytest.importorskip("cupy")
    inputs = operands(dtype=torch.float16)
    want = flex_attention(*inputs, mask_mod=CAUSAL)
    arrays = [cupy.from_dlpack(t) for t in inputs]
    got = tw.attention(*arrays, mask_mod=CAUSAL)
    assert isinstance(got, cupy.ndarray) and got.dtype == cupy.float16
    stream = cupy.cuda.Stream()
    other = tw.attention(*arrays, mask_mod=CAUSAL, stream=stream)
    stream.synchronize()
    torch.cuda.synchronize()
    assert torch.equal(torch.from_dlpack(got), want) and torch.equal(torch.from_dlpack(other), want)


def test_a_captured_graph_sees_new_inputs():
    slopes = on_gpu(SLOPES)
    inputs = operands()
    run = lambda: flex_attention(*inputs, lambda s, b, h, q, kv: s - slopes[h] * (q - kv).abs(), mask_mod=CAUSAL)  # noqa: E731
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()
    for _ in range(3):
        for t in (*inputs, slopes):
            t.copy_(torch.randn_like(t))
        out.zero_()
        graph.replay()
        assert torch.equal(out, run())


def test_compiled_with_gradients():
    slopes = on_gpu(SLOPES)

    def attend(q, k, v):
        return flex_attention(q, k, v, lambda s, b, h, i, j: s - slopes[h] * (i - j).abs(), mask_mod=CAUSAL)

    inputs = operands(grad=True)
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    out = compiled(*inputs)
    assert torch.equal(out, attend(*inputs))
    grads = torch.autograd.grad(out.float().square().sum(), inputs)
    assert all(torch.isfinite(g).all() for g in grads)


def test_deterministic_gradients():
    inputs = operands(S=1000, B=1, H=8, Hkv=2, grad=True)
    up = torch.randn(1, 8, 1000, 64, device="cuda", dtype=torch.bfloat16)
    runs = []
    for _ in range(5):
        out = flex_attention(*inputs, enable_gqa=True, mask_mod=CAUSAL, deterministic=True)
        runs.append(torch.autograd.grad(out, inputs, up))
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(run, runs[0]))


def test_double_precision_is_refused():
    with pytest.raises(tw.UnsupportedError):
        flex_attention(*operands(dtype=torch.float64))


def test_gradients_of_tables_whose_mods_differ_in_names_alone():
    inputs = operands()
    first, second = (torch.randn(4, device="cuda", requires_grad=True) for _ in range(2))
    check(inputs, lambda s, b, h, q, kv: s * first[h], CAUSAL, (first,))
    check(inputs, lambda s, b, h, q, kv: s * second[h], CAUSAL, (second,))


def test_inductor_runs_the_op():
    slopes = on_gpu(SLOPES)

    def attend(q, k, v):
        return flex_attention(q * 2, k, v, lambda s, b, h, i, j: s - slopes[h] * (i - j).abs(), mask_mod=CAUSAL).relu()

    inputs = operands()
    close(torch.compile(attend, fullgraph=True)(*inputs), attend(*inputs))
