"""Attention inside torch.compile(fullgraph=True): nothing stale, nothing compiled twice."""

import pytest
import torch
from dense_torch import same
from devices import DEVICE, SINGLE
from torch._dynamo.testing import CompileCounterWithBackend

from tilewright.torch import AuxRequest, create_block_mask, flex_attention


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def operands(S=40, H=4, D=16, grad=False):
    dtype = SINGLE if grad else torch.float32
    return tuple(torch.randn(2, H, S, D, dtype=dtype, requires_grad=grad) for _ in range(3))


def compiled(function, **options):
    counter = CompileCounterWithBackend("aot_eager")
    return torch.compile(function, backend=counter, fullgraph=True, **options), counter


@pytest.mark.parametrize(
    "subscript",
    [
        lambda t, b, h, q, kv: t[b, h, q, kv],
        lambda t, b, h, q, kv: t[b][h][q][kv],
        lambda t, b, h, q, kv: t[b, h][q, kv],
        lambda t, b, h, q, kv: t[1, h, q, 3] + t[b, -1, kv, q],
        lambda t, b, h, q, kv: t[b, h, kv].sum() + t[:, 2][b, q, kv] + t[..., kv][b, h, q],
        lambda t, b, h, q, kv: t[0, 0, 0, :1] * kv + (t[b, h, q] * t[b, h, kv]).sum() + t[b, h, kv].mean(),
        lambda t, b, h, q, kv: t[b, h, (q - kv).abs(), torch.where(q > kv, q, kv)],
    ],
)
def test_subscripts(subscript):
    table = torch.randn(2, 4, 40, 40)
    attend = lambda *t: flex_attention(*t, lambda s, b, h, i, j: s + subscript(table, b, h, i, j))  # noqa: E731
    inputs = operands()
    torch.testing.assert_close(compiled(attend)[0](*inputs), attend(*inputs))


def test_a_subscripted_table_of_positions():
    table, where = torch.randn(4, 40), torch.randperm(40)
    attend = lambda *t: flex_attention(*t, lambda s, b, h, i, j: s * table[h, where[i]] - table[h, where[j]])  # noqa: E731
    inputs = operands()
    torch.testing.assert_close(compiled(attend)[0](*inputs), attend(*inputs))


def test_a_changed_tensor_is_neither_stale_nor_compiled_again():
    class Bias(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(4, 40))

        def forward(self, q, k, v):
            return flex_attention(q, k, v, lambda s, b, h, i, j: s + self.table[h, i] * j)

    module = Bias()
    run, counter = compiled(module)
    inputs = operands()
    for _ in range(3):
        torch.testing.assert_close(run(*inputs), module(*inputs))
        with torch.no_grad():
            module.table.copy_(torch.randn(4, 40))
    assert counter.frame_count == 1


def test_a_changed_number_is_not_stale_and_soon_compiles_no_more():
    def attend(q, k, v, window, slope):
        return flex_attention(
            q, k, v, lambda s, b, h, i, j: s + slope * (i - j), mask_mod=lambda b, h, i, j: (i - j).abs() < window
        )

    run, counter = compiled(attend)
    inputs = operands()
    counts = []
    for window, slope in [(3, 0.5), (5, 0.25), (9, 0.75), (12, 1.5), (30, 2.5)]:
        torch.testing.assert_close(run(*inputs, window, slope), attend(*inputs, window, slope))
        counts.append(counter.frame_count)
    assert counts[-1] == counts[1] <= 2


@pytest.mark.parametrize("dynamic", [True, None])
def test_lengths_change(dynamic):
    attend = lambda *t: flex_attention(*t, mask_mod=lambda b, h, i, j: i >= j)  # noqa: E731
    run, counter = compiled(attend, dynamic=dynamic)
    for length in (40, 33, 64, 127):
        inputs = operands(length)
        torch.testing.assert_close(run(*inputs), attend(*inputs))
    assert counter.frame_count <= 2


def test_gradients_of_operands_captures_and_lse():
    table = torch.randn(4, 40, requires_grad=True)

    def attend(q, k, v):
        out, aux = flex_attention(
            q, k, v, lambda s, b, h, i, j: s * table[h, i].sigmoid(), return_aux=AuxRequest(lse=True),
            mask_mod=lambda b, h, i, j: i >= j,
        )  # fmt: skip
        return out.square().sum() + aux.lse.sin().sum()

    run, counter = compiled(attend)
    inputs = operands(grad=True)
    for a, b in zip(
        torch.autograd.grad(run(*inputs), (*inputs, table)), torch.autograd.grad(attend(*inputs), (*inputs, table))
    ):
        same(a, b, 1e-5, 1e-4)
    assert counter.frame_count == 1


def test_branches_and_block_masks():
    def score(s, b, h, i, j):
        if i > j and not h == 1:
            return s * 2
        return s if j % 3 else -s

    mask = create_block_mask(lambda b, h, i, j: (i >= j) | (h == 2), None, 4, 40, 40, device=DEVICE)
    attend = lambda *t: flex_attention(*t, score, mask)  # noqa: E731
    inputs = operands()
    torch.testing.assert_close(compiled(attend)[0](*inputs), attend(*inputs))


def test_inductor_runs_the_same_graph():
    bias = torch.randn(4, 40)

    def attend(q, k, v):
        return flex_attention(q * 2, k, v, lambda s, b, h, i, j: s + bias[h, i]).relu()

    inputs = operands()
    torch.testing.assert_close(torch.compile(attend, fullgraph=True)(*inputs), attend(*inputs))


def test_programs_are_one_line_where_compilers_write_them_down():
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    attend = lambda *t: flex_attention(*t, lambda s, b, h, i, j: s * 2 + i, mask_mod=lambda b, h, i, j: i >= j)  # noqa: E731
    inputs = operands()
    torch.testing.assert_close(torch.compile(attend, backend=keep, fullgraph=True)(*inputs), attend(*inputs))
    (call,) = [n for n in graphs[0].graph.nodes if n.target is torch.ops.tilewright.forward]
    (text,) = [x for x in (*call.args, *call.kwargs.values()) if isinstance(x, str)]
    assert "score = " in text and "\n" not in text
