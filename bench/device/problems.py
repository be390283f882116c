"""Problems of the forward harness: inputs, mods as PyTorch expressions, bindings of the hand-written texts, live pairs."""
import struct

import torch

WINDOW, PREFIX, CAP = 1024, 1024, 20.0


def document_begins(rows, documents=12):
    g = torch.Generator().manual_seed(1)
    cuts = torch.sort(torch.randperm(rows - 1, generator=g)[: documents - 1] + 1).values
    begin = torch.zeros(rows, dtype=torch.int32)
    for c in cuts.tolist():
        begin[c:] = c
    return begin


def pyramid(table):
    """Least and greatest of 32, 64, ... neighbours of a rank-1 integer table, level after level."""
    levels, low, high = [], table.long(), table.long()
    width = 32
    while True:
        pad = -low.numel() % width
        low = torch.cat([low, low[-1:].expand(pad)]).view(-1, width).amin(1)
        high = torch.cat([high, high[-1:].expand(pad)]).view(-1, width).amax(1)
        levels.append(torch.stack([low, high], 1))
        width = 2
        if low.numel() == 1:
            return torch.cat(levels).contiguous()


def emitted_block(mods, heads, q_rows, kv_rows):
    """The parameter block of src/backends/cuda/parameter_block.h."""
    block = struct.pack("<Q6q", 0, 0, 0, 1, heads, q_rows, kv_rows)
    for t in mods.captures:
        block += struct.pack(f"<Q{2 * t.dim()}q", t.data_ptr(), *t.shape, *t.stride())
    for n in mods.numbers:
        block += struct.pack("<dfi", n, n, 0) if isinstance(n, float) else struct.pack("<qii", n, n, 0)
    for t in mods.pyramids:
        cells = pyramid(t)
        mods.tensors.append(cells)
        block += struct.pack("<Qqq", cells.data_ptr(), 1, t.numel())
    return block


class Mods:
    """keep(i, j) -> bool tensor or None, score(s, h, i, j) -> tensor or None, bindings -> bytes. "emit-causal" is what
    `causal` is, as the library's emitter writes it: its bindings are the parameter block of src/backends/cuda."""

    def __init__(self, name, heads, q_rows, kv_rows):
        self.name = name
        if name.startswith("emit-"):
            self.__init__(name.removeprefix("emit-"), heads, q_rows, kv_rows)
            self.bindings = emitted_block(self, heads, q_rows, kv_rows)
            return
        self.tensors = []
        self.captures, self.numbers, self.pyramids = [], [], []  # of the emitted program
        self.keep = self.score = None
        self.bindings = b""
        if name in ("causal", "causal-pairs", "alibi", "softcap"):
            self.keep = lambda i, j: j <= i
        if name == "window":
            self.keep = lambda i, j: (j <= i) & (i - j <= min(WINDOW, kv_rows // 3))
            self.numbers = [min(WINDOW, kv_rows // 3)]
            self.bindings = struct.pack("<i", min(WINDOW, kv_rows // 3))
        if name == "prefix":
            self.keep = lambda i, j: (j < min(PREFIX, kv_rows // 3)) | (j <= i)
            self.numbers = [min(PREFIX, kv_rows // 3)]
            self.bindings = struct.pack("<i", min(PREFIX, kv_rows // 3))
        if name == "slanted":
            h = torch.arange(heads, device="cuda")[:, None, None]
            self.keep = lambda i, j: (j >= i // 2 - 30 * h) & (j <= i + 17 * h)
        if name == "documents":
            begin = document_begins(q_rows, min(12, q_rows // 2)).cuda()
            self.tensors.append(begin)
            self.captures, self.pyramids = [begin], [begin]
            self.keep = lambda i, j: (j >= begin[i]) & (j <= i)
            self.bindings = struct.pack("<Q", begin.data_ptr())
        if name == "padding":
            keep = torch.rand(kv_rows, device="cuda", generator=torch.Generator(device="cuda").manual_seed(2)) < 0.7
            self.tensors.append(keep)
            self.captures, self.pyramids = [keep], [keep]
            self.keep = lambda i, j: keep[j] & (i >= 0)
            self.bindings = struct.pack("<Qi", keep.data_ptr(), kv_rows)
        if name == "alibi":
            slope = torch.exp2(-(torch.arange(heads, device="cuda") + 1) * 0.5).float()
            self.tensors.append(slope)
            self.captures = [slope]
            self.score = lambda s, h, i, j: s + slope[h].to(s.dtype) * (j - i).to(s.dtype)
            self.bindings = struct.pack("<Q", slope.data_ptr())
        if name == "softcap":
            self.score = lambda s, h, i, j: CAP * torch.tanh(s / CAP)
            self.numbers = [CAP]
            self.bindings = struct.pack("<2f", CAP, 1 / CAP)
        if name == "relative":
            size = q_rows + kv_rows
            table = torch.randn(heads, size, device="cuda").bfloat16()
            self.tensors.append(table)
            self.score = lambda s, h, i, j: s + table[h, i - j + kv_rows].to(s.dtype)
            self.captures, self.numbers = [table], [kv_rows]
            self.bindings = struct.pack("<Qqii", table.data_ptr(), size, kv_rows, size)

    def live_pairs(self, q_rows, kv_rows):
        if self.keep is None:
            return q_rows * kv_rows
        total = 0
        j = torch.arange(kv_rows, device="cuda")
        for i0 in range(0, q_rows, 1024):
            i = torch.arange(i0, min(i0 + 1024, q_rows), device="cuda")
            total += int(self.keep(i[:, None], j[None, :]).sum())
        return total


def round_to_tf32(x):
    """fp32 rounded to 11 significant bits."""
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def dense(q, k, v, mods, scale, dtype, p_dtype):
    """Plain attention in `dtype`, P rounded to p_dtype before the product. Gives out, lse, max_scores."""
    b, hq, rows, _ = q.shape
    hkv, kv_rows = k.shape[1], k.shape[2]
    kk = k.to(dtype).repeat_interleave(hq // hkv, 1).expand(b, -1, -1, -1)
    vv = v.to(dtype).repeat_interleave(hq // hkv, 1).expand(b, -1, -1, -1)
    s = (q.to(dtype) @ kk.transpose(-1, -2)) * scale
    i = torch.arange(rows, device="cuda")[:, None]
    j = torch.arange(kv_rows, device="cuda")[None, :]
    if mods.score is not None:
        s = torch.stack([mods.score(s[:, h], h, i, j) for h in range(hq)], 1)
    if mods.keep is not None:
        s = s.masked_fill(~mods.keep(i, j), float("-inf"))
    top = s.amax(-1, keepdim=True)
    p = torch.exp(s - torch.where(top.isinf(), torch.zeros_like(top), top))
    total = p.sum(-1, keepdim=True)
    lse = (top + total.log()).squeeze(-1)
    if p_dtype is not None:
        p = round_to_tf32(p) if p_dtype == "tf32" else p.to(p_dtype).to(dtype)
    out = torch.where(total > 0, (p @ vv) / total, torch.zeros((), dtype=dtype, device="cuda"))
    return out, lse, top.squeeze(-1)


def judge(out, lse, q, k, v, mods, scale, tf32=False):
    """The tolerance of the semantics: (worst fraction of the max bound, of the mean bound, of the lse bound). TF32, by option
    only, is held against the plain computation on operands rounded to TF32 with the eps of fp16, and its lse against that one's."""
    eps = 1e-3 if tf32 else {torch.bfloat16: 8e-3, torch.float16: 1e-3, torch.float32: 1e-5}[q.dtype]
    worst = [0.0, 0.0, 0.0]
    for b in range(q.shape[0]):
        kb = 0 if k.shape[0] == 1 else b
        args = (q[b : b + 1], k[kb : kb + 1], v[kb : kb + 1], mods, scale)
        exact, exact_lse, _ = dense(*args, torch.float64, None)
        rounded = [round_to_tf32(t) for t in args[:3]] + list(args[3:]) if tf32 else args
        plain, plain_lse, _ = dense(*rounded, torch.float32, "tf32" if tf32 else q.dtype)
        plain = plain.to(q.dtype).double()
        error = (out[b].double() - exact[0]).abs()
        allowed = (plain[0] - exact[0]).abs()
        size = exact.abs()
        f_max = float(error.max() / (2 * allowed.max() + eps * size.max()))
        f_mean = float(error.mean() / (1.2 * allowed.mean() + eps / 10 * size.mean()))
        live = ~exact_lse[0].isinf()
        if not torch.equal(lse[b].double().isinf(), ~live):
            f_max = float("nan")
        gap = (lse[b].double() - exact_lse[0])[live].abs() / exact_lse[0][live].abs().clamp(min=1)
        slack = 2 * float((plain_lse[0].double() - exact_lse[0])[live].abs().max()) if tf32 and gap.numel() else 0.0
        f_lse = float(gap.max() / (1e-5 + slack)) if gap.numel() else 0.0
        for n, f in enumerate((f_max, f_mean, f_lse)):
            worst[n] = f if not (f <= worst[n]) else worst[n]
    return worst


def max_scores_fraction(max_scores, q, k, v, mods, scale):
    """Worst error of max_scores as a fraction of its bound; inf where a row without live pairs is not -inf."""
    worst = 0.0
    for b in range(q.shape[0]):
        kb = 0 if k.shape[0] == 1 else b
        exact = dense(q[b : b + 1], k[kb : kb + 1], v[kb : kb + 1], mods, scale, torch.float64, None)[2][0]
        mine, live = max_scores[b].double(), ~exact.isinf()
        if not torch.equal(mine.isinf(), ~live):
            return float("inf")
        gap = (mine - exact)[live].abs() / exact[live].abs().clamp(min=1)
        worst = max(worst, float(gap.max() / 1e-5)) if gap.numel() else worst
    return worst
