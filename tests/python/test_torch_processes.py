"""PyTorch's threads, DataLoader workers and pickles around attention."""

import pickle
import subprocess
import sys
import threading

import pytest
import torch

from tilewright.torch import create_block_mask, flex_attention


def test_eight_threads_with_gradients():
    q, k, v = (torch.randn(1, 2, 50, 16) for _ in range(3))
    table = torch.randn(8, 2, 50)

    def run(place):
        inputs = [t.clone().requires_grad_() for t in (q, k, v)]
        bias = table[place].clone().requires_grad_()
        out = flex_attention(*inputs, lambda s, b, h, i, j: s + bias[h, i] * j, mask_mod=lambda b, h, i, j: i - j < place + 1)
        return [out, *torch.autograd.grad(out.square().sum(), (*inputs, bias))]

    want = [run(place) for place in range(8)]
    failures = []

    def work(place):
        for _ in range(5):
            for a, b in zip(run(place), want[place]):
                if not torch.equal(a, b):
                    failures.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


class Items(torch.utils.data.Dataset):
    """Each item is attended to inside a worker, and comes back with its mask."""

    def __len__(self):
        return 6

    def __getitem__(self, place):
        x = torch.randn(1, 2, 40, 8, generator=torch.Generator().manual_seed(place))
        document = torch.arange(40) // (place + 3)
        mask = create_block_mask(lambda b, h, i, j: document[i] == document[j], None, None, 40, 40, device="cpu")
        return place, flex_attention(x, x, x, block_mask=mask), mask


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_dataloader_workers(start):
    here = Items()
    here[0]
    loader = torch.utils.data.DataLoader(
        here, batch_size=None, num_workers=2, multiprocessing_context=start, collate_fn=None
    )
    seen = 0
    for place, out, mask in loader:
        x = torch.randn(1, 2, 40, 8, generator=torch.Generator().manual_seed(place))
        assert torch.equal(out, here[place][1])
        assert torch.equal(flex_attention(x, x, x, block_mask=mask), out)
        seen += 1
    assert seen == 6


def test_masks_of_every_kind_are_pickled():
    table, width = torch.rand(40) > 0.3, 7
    mods = [
        lambda b, h, i, j: (i - j).abs() < width,
        lambda b, h, i, j: table[j] & (i >= j),
        lambda b, h, i, j: (i >= j) if True else table[i],
    ]
    x = torch.randn(1, 2, 40, 8)
    for mod in mods:
        mask = create_block_mask(mod, None, None, 40, 40, device="cpu")
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(mask))))
        assert torch.equal(flex_attention(x, x, x, block_mask=again), flex_attention(x, x, x, block_mask=mask))
        assert torch.equal(again[:, :, 0].to_dense(), mask[:, :, 0].to_dense())


def test_torch_without_the_exchange_interface():
    code = """
import torch
hidden = [c for c in torch.Tensor.__mro__ if "__dlpack_c_exchange_api__" in c.__dict__]
for owner in hidden:
    delattr(owner, "__dlpack_c_exchange_api__")
assert not hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
from tilewright.torch import flex_attention
q, k, v = (torch.randn(1, 2, 20, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
bias = torch.randn(2, dtype=torch.float64, requires_grad=True)
out = flex_attention(q, k, v, lambda s, b, h, i, j: s * bias[h])
s = q @ k.mT / 8**0.5 * bias[:, None, None]
want = s.softmax(-1) @ v
torch.testing.assert_close(out, want)
for a, b in zip(*(torch.autograd.grad(t.square().sum(), (q, k, v, bias)) for t in (out, want))):
    torch.testing.assert_close(a, b)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
