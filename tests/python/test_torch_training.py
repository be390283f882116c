"""Attention inside PyTorch's training machinery: checkpointing, hooks, DDP, transforms, counters."""

import subprocess
import sys
import textwrap

import pytest
import torch
from devices import DEVICE
from torch.utils import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import tilewright as tw
from tilewright.torch import create_block_mask, explain, flash_attn_func, flex_attention

CAUSAL = lambda b, h, q, kv: q >= kv  # noqa: E731


def operands(S=40, H=4, D=16, dtype=torch.float32):
    return tuple(torch.randn(2, H, S, D, dtype=dtype, requires_grad=True) for _ in range(3))


def layer(scale):
    return lambda q, k, v: flex_attention(q, k, v, lambda s, b, h, i, j: s * scale[h], mask_mod=CAUSAL).square()


def same_gradients(run, plain, inputs):
    got = torch.autograd.grad(run(*inputs[:3]).sum(), inputs)
    want = torch.autograd.grad(plain(*inputs[:3]).sum(), inputs)
    for a, b in zip(got, want):
        assert torch.equal(a, b)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing(reentrant):
    scale = torch.rand(4, requires_grad=True)
    attend = layer(scale)
    run = lambda *t: checkpoint.checkpoint(attend, *t, use_reentrant=reentrant)  # noqa: E731
    if reentrant:
        inputs = operands()
        run(*inputs).sum().backward()
        want = torch.autograd.grad(attend(*inputs).sum(), inputs)
        for t, b in zip(inputs, want):
            assert torch.equal(t.grad, b)
    else:
        same_gradients(run, attend, (*operands(), scale))


@pytest.mark.parametrize("save", [True, False])
def test_selective_checkpointing_saves_what_its_policy_says(save):
    scale = torch.rand(4, requires_grad=True)
    attend = layer(scale)

    def policy(context, op, *args, **kwargs):
        wanted = save and op is torch.ops.tilewright.forward.default
        return checkpoint.CheckpointPolicy.MUST_SAVE if wanted else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE

    def contexts():
        return checkpoint.create_selective_checkpoint_contexts(policy)

    run = lambda *t: checkpoint.checkpoint(attend, *t, use_reentrant=False, context_fn=contexts)  # noqa: E731
    inputs = (*operands(), scale)
    same_gradients(run, attend, inputs)
    before = tw.stats()["calls"]
    out = run(*inputs[:3])
    torch.autograd.grad(out.sum(), inputs)
    # Forward and backward; forward once more where its result was not saved.
    assert tw.stats()["calls"] - before == (2 if save else 3)


def test_saved_tensors_may_live_elsewhere():
    scale = torch.rand(4, requires_grad=True)
    attend = layer(scale)

    def run(*t):
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x.clone()):
            return attend(*t)

    same_gradients(run, attend, (*operands(), scale))


def test_distributed_data_parallel():
    script = textwrap.dedent(
        """
        import os, sys, torch
        import torch.distributed as dist
        from tilewright.torch import flex_attention

        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.project = torch.nn.Linear(16, 48)
                self.bias = torch.nn.Parameter(torch.randn(2, 40))

            def forward(self, x):
                q, k, v = self.project(x).view(2, 40, 3, 2, 8).permute(2, 0, 3, 1, 4)
                return flex_attention(q, k, v, lambda s, b, h, i, j: s + self.bias[h, i] * self.bias[h, j])

        rank, port = int(sys.argv[1]), sys.argv[2]
        torch.set_num_threads(1)
        store = dist.FileStore(port, 2)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
        module = Layer()
        data = torch.randn(2, 2, 40, 16, generator=torch.Generator().manual_seed(1))
        parallel = torch.nn.parallel.DistributedDataParallel(module)
        parallel(data[rank]).square().mean().backward()
        alone = Layer()
        (sum(alone(x).square().mean() for x in data) / 2).backward()
        for a, b in zip(module.parameters(), alone.parameters()):
            torch.testing.assert_close(a.grad, b.grad)
        dist.destroy_process_group()
        print("equal")
        """
    )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        commands = [[sys.executable, "-c", script, str(rank), f"{folder}/store"] for rank in (0, 1)]
        running = [
            subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for c in commands
        ]
        for process in running:
            output, _ = process.communicate(timeout=300)
            assert process.returncode == 0 and "equal" in output, output


def test_transforms_are_refused():
    q, k, v = (t.detach() for t in operands())
    attend = lambda x: flex_attention(x, k, v).sum()  # noqa: E731
    for transform in (torch.func.grad, torch.func.vjp, torch.func.jacrev):
        with pytest.raises(tw.UnsupportedError, match="torch.func"):
            run = transform(attend, q) if transform is torch.func.vjp else transform(attend)(q)
            del run
    with pytest.raises(tw.UnsupportedError, match="torch.func"):
        torch.func.vmap(lambda x: flex_attention(x, x, x))(torch.randn(3, 1, 2, 8, 4))
    with pytest.raises(tw.UnsupportedError, match="torch.func"):
        torch.func.jvp(attend, (q,), (torch.ones_like(q),))


def test_forward_mode_is_refused():
    import torch.autograd.forward_ad as forward

    q, k, v = (t.detach() for t in operands())
    with forward.dual_level(), pytest.raises(tw.UnsupportedError, match="forward-mode"):
        flex_attention(forward.make_dual(q, torch.ones_like(q)), k, v)


def test_second_derivatives_of_every_kind_are_refused():
    q, k, v = operands()
    with pytest.raises(tw.UnsupportedError, match="twice"):
        torch.autograd.functional.hessian(lambda x: flex_attention(x, k, v).square().sum(), q)


def test_flops_are_counted():
    q, k, v = operands(S=64)
    with FlopCounterMode(display=False) as counter:
        flex_attention(q, k, v).sum().backward()
    forward = 2 * 2 * 4 * 64 * 64 * (16 + 16)
    assert counter.get_total_flops() == forward + 2 * 2 * 4 * 64 * 64 * (3 * 16 + 2 * 16)


@pytest.mark.parametrize("device_dtype", [torch.bfloat16, torch.float16])
def test_autocast_casts_operands_and_no_captures(device_dtype):
    q, k, v = operands()
    table = torch.randn(4, 40, dtype=torch.float32, requires_grad=True)
    with torch.autocast(DEVICE, device_dtype):
        out = flex_attention(q.half(), k, v, lambda s, b, h, i, j: s + table[h, i] * j)
    assert out.dtype == device_dtype
    grads = torch.autograd.grad(out.float().sum(), (k, v, table))
    assert all(g.dtype == torch.float32 for g in grads)


def test_inference_mode():
    with torch.inference_mode():
        q, k, v = operands()
        table = torch.randn(4)
        out = flex_attention(q, k, v, lambda s, b, h, i, j: s * table[h])
        assert out.is_inference() and not out.requires_grad
    again = flex_attention(q.clone(), k.clone(), v.clone(), lambda s, b, h, i, j: s * table.clone()[h])
    torch.testing.assert_close(again, out.clone())


@pytest.mark.cpu_only("a GPU keeps an order where it is asked to")
def test_fixed_order_is_always_met_on_the_cpu():
    inputs = operands(S=200)
    up = torch.randn(2, 4, 200, 16)
    runs = []
    for deterministic in (True, False, None, True):
        out = flex_attention(*inputs, mask_mod=CAUSAL, deterministic=deterministic)
        runs.append(torch.autograd.grad(out, inputs, up))
    assert all(torch.equal(a, b) for run in runs[1:] for a, b in zip(run, runs[0]))
    q, k, v = (t.transpose(1, 2) for t in inputs)
    assert flash_attn_func(q, k, v, causal=True, deterministic=True).shape == q.shape


def test_kernel_options_are_noted():
    q, k, v = operands()
    options = {"BLOCK_M": 64, "num_warps": 4, "ROWS_GUARANTEED_SAFE": True, "BACKEND": "TRITON"}
    text = explain(q, k, v, lambda s, b, h, i, j: s + i, create_block_mask(CAUSAL, None, None, 40, 40, device=DEVICE),
                   kernel_options=options)  # fmt: skip
    for name in options:
        assert f"{name}=" in text
    assert "no effect" in text and "score" in text
    table = explain(q, k, v, lambda s, b, h, i, j: s + i, at=(0, 1, 5, 3))
    assert "score" in table
    assert torch.equal(flex_attention(q, k, v, kernel_options=options), flex_attention(q, k, v))


@pytest.mark.cpu_only("the reference backend reads host memory")
def test_require_fast_refuses_only_slow_kernels():
    tw.configure(backend="reference")
    try:
        with pytest.raises(tw.UnsupportedError):
            flex_attention(*operands(), require_fast=True)
    finally:
        tw.configure(backend="")
    flex_attention(*operands(), require_fast=True)
