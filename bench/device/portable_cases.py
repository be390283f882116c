"""Problems of the portable family: tensors of awkward strides in poisoned buffers, span lists, split keys."""
import torch

NAN = float("nan")
CASES = [  # B, Bkv, Hq, Hkv, Q, KV
    (1, 1, 1, 1, 64, 64), (2, 2, 3, 3, 300, 300), (1, 1, 4, 2, 257, 513), (2, 1, 6, 2, 1000, 777), (1, 1, 1, 1, 1, 1),
    (1, 1, 6, 2, 7, 2000), (1, 1, 5, 1, 2049, 2047), (1, 1, 2, 2, 600, 90), (2, 2, 12, 4, 3, 700),
]


def fresh(shape, dtype, seed):
    g = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(shape, device="cuda", generator=g).to(dtype)


def up(n, multiple):
    return -(-n // multiple) * multiple


class Buffer:
    """A [B, H, S, D] view of the strides that a way of copying allows, inside a buffer that is NaN everywhere else."""

    def __init__(self, shape, dtype, form):
        b, h, s, d = shape
        if form == "rows":  # 16-byte strides, padding behind every row and head
            self.whole = torch.full((b, h, s + 1, up(d, 8) + 8), NAN, device="cuda", dtype=dtype)
            self.view = self.whole[:, :, :s, :d]
        elif form == "heads":  # heads inside rows, as [B, S, H, D] tensors
            self.whole = torch.full((b, s + 1, h, up(d, 8)), NAN, device="cuda", dtype=dtype)
            self.view = self.whole[:, :s, :, :d].transpose(1, 2)
        elif form == "pairs":  # even strides, base a multiple of 4 bytes only
            self.whole = torch.full((b * h * (s + 1) * (up(d, 2) + 2) + 2,), NAN, device="cuda", dtype=dtype)
            inner = self.whole[2:].view(b, h, s + 1, up(d, 2) + 2)
            self.view = inner[:, :, :s, :d]
        elif form == "odd":  # odd strides and an odd base
            self.whole = torch.full((b * h * (s + 1) * (d + 1 - d % 2) + 1,), NAN, device="cuda", dtype=dtype)
            inner = self.whole[1:].view(b, h, s + 1, d + 1 - d % 2)
            self.view = inner[:, :, :s, :d]
        else:  # "columns": rows are innermost
            self.whole = torch.full((b, h, d, s + 3), NAN, device="cuda", dtype=dtype)
            self.view = self.whole[:, :, :, :s].transpose(2, 3)

    def fill(self, values):
        self.view.copy_(values)
        return self.view

    def untouched_outside(self):
        copy = self.view.clone()
        self.view.fill_(NAN)
        clean = bool(self.whole.isnan().all())
        self.view.copy_(copy)
        return clean


def forms(copy_bytes, element):
    """Storage of query, key, value, out."""
    if copy_bytes == 16:
        return [("rows", "heads", "rows", "rows"), ("heads", "rows", "heads", "odd"), ("rows", "rows", "heads", "columns")]
    if copy_bytes == 4 and element != torch.float32:
        return [("pairs", "pairs", "heads", "pairs"), ("heads", "pairs", "pairs", "rows")]
    return [("odd", "columns", "odd", "odd"), ("columns", "odd", "columns", "columns")]


def dims(kernel, n):
    """True head dim and value dim of case n: the tile's own, odd ones, and value dims of more than one section."""
    e = (kernel.e, max(1, kernel.e - 3), max(1, kernel.e - 9))[n % 3]
    ev = (kernel.v, max(1, kernel.v - 5), kernel.v + 7)[n % 3]
    return e, ev


def random_lists(rows, kv, heads, q_block, seed):
    """Lists of one batch, per head: (spans per list, in_full [H, Q, KV], in_any [H, Q, KV])."""
    g = torch.Generator().manual_seed(seed)
    lists = []
    full = torch.zeros(heads, rows, kv, dtype=torch.bool)
    listed = torch.zeros_like(full)
    for h in range(heads):
        for block in range(-(-rows // q_block)):
            cuts = torch.sort(torch.randint(0, kv + 1, (8,), generator=g)).values.tolist()
            spans = [(a, b, int(torch.randint(0, 2, (1,), generator=g))) for a, b in zip(cuts[::2], cuts[1::2]) if a < b]
            if (block + h) % 5 == 4:
                spans = []
            lists.append(spans)
            i = slice(block * q_block, (block + 1) * q_block)
            for a, b, f in spans:
                listed[h, i, a:b] = True
                full[h, i, a:b] = bool(f)
    return lists, full.cuda(), listed.cuda()
