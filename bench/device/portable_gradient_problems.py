"""Problems of the portable backward family: operands in poisoned buffers, and what plain computations make of them."""
import itertools
import math

import torch

from gradient_problems import dense_gradients, fractions
from portable_cases import Buffer, fresh
from problems import Mods


class BoundMods:
    """The mods as one group of heads sees them."""

    def __init__(self, mods, first_head, group):
        self.score, self.first_head = mods.score, first_head
        self.keep = None
        if mods.keep is not None:
            self.keep = lambda i, j: self.of_group(mods.keep(i, j), group)

    def of_group(self, keep, group):
        return keep[self.first_head : self.first_head + group] if keep.dim() == 3 and keep.shape[0] > 1 else keep


def dims(kernel, n):
    """True head dim and value dim of case n."""
    less = (0, 3, 8, 24)[n % 4], (0, 5, 16, 8)[n % 4]
    return max(1, kernel.e - less[0]), max(1, kernel.v - less[1])


class Problem:
    """Random operands in buffers that are NaN everywhere else, and what plain computations make of them."""

    def __init__(self, kernel, shape, sizes, way, seed, options):
        b, bk, hq, hkv, rows, kv = shape
        e, ev = sizes
        dtype = self.dtype = kernel.element
        shapes = [(b, hq, rows, e), (bk, hkv, kv, e), (bk, hkv, kv, ev), (b, hq, rows, ev)]
        factors = (3 if options["large"] else 1, 1, 1, 1)
        self.q, self.k, self.v, self.d_out = (
            Buffer(s, dtype, w).fill(fresh(s, dtype, seed + m) * f)
            for m, (s, w, f) in enumerate(zip(shapes, (*way[:3], way[0]), factors)))
        self.d_lse = fresh((b, hq, rows), torch.float32, seed + 5) if options["d_lse"] else None
        self.mods = options.get("mods") or Mods(kernel.mods, hq, rows, kv)
        self.tf32 = kernel.tiles.element == "Tf32"
        self.scale = 1 / math.sqrt(e)
        self.out_buffer = Buffer(shapes[3], dtype, way[3])
        self.out = self.out_buffer.view
        self.lse = torch.empty((b, hq, rows), device="cuda")
        self.exact = self.gradients(torch.float64, None, True)
        self.plain = self.gradients(torch.float32, "tf32" if self.tf32 else dtype if dtype != torch.float32 else None, False)

    def gradients(self, dtype, p_dtype, keep_forward):
        b, hq, rows, _ = self.q.shape
        bk, hkv, _, _ = self.k.shape
        g = hq // hkv
        result = [torch.zeros(x.shape, device="cuda", dtype=dtype) for x in (self.q, self.k, self.v)]
        zeros = torch.zeros((b, hq, rows), device="cuda")
        for batch, head in itertools.product(range(b), range(hkv)):
            kb, heads = (0 if bk == 1 else batch), slice(head * g, head * g + g)
            out, lse, d_q, d_k, d_v = dense_gradients(
                self.q[batch, heads], self.k[kb, head], self.v[kb, head], self.d_out[batch, heads],
                (zeros if self.d_lse is None else self.d_lse)[batch, heads], BoundMods(self.mods, head * g, g), self.scale, dtype, p_dtype)
            if keep_forward:
                self.out[batch, heads], self.lse[batch, heads] = out.to(self.dtype), lse.float()
            result[0][batch, heads] = d_q
            result[1][kb, head] += d_k
            result[2][kb, head] += d_v
        return result

    def seen(self):
        """Which rows [Hq, Q] see a key and which keys [Hkv, KV] are seen."""
        hq, hkv, rows, kv = self.q.shape[1], self.k.shape[1], self.q.shape[2], self.k.shape[2]
        keep = torch.ones((1, rows, kv), dtype=torch.bool, device="cuda")
        if self.mods.keep is not None:
            keep = self.mods.keep(torch.arange(rows, device="cuda")[:, None], torch.arange(kv, device="cuda")[None, :])
        keep = keep.expand(hq, rows, kv)
        return keep.any(2), keep.any(1).view(hkv, hq // hkv, kv).any(1)

    def judge(self, found):
        """Fractions of the bounds of every gradient that is there, and whether exact zeros are."""
        size = lambda x: float(x.float().abs().amax())
        d_probability = size(self.d_out) * size(self.v)
        terms = (d_probability * size(self.k) * self.scale, d_probability * size(self.q) * self.scale, 0.0)
        rows, keys = self.seen()
        result, zeros = [], True
        for n, g in enumerate(found):
            if g is None:
                result.append([0.0, 0.0])
                continue
            result.append(fractions(g, self.exact[n], self.plain[n], terms[n], self.tf32))
            dead = ~(rows if n == 0 else keys)
            zeros = zeros and not bool(g.masked_select(dead[None, :, :, None].expand(g.shape)).any())
        return result, zeros
