"""The problems of the speed tables, forward and backward: a mask and a score_mod in every form that an implementation takes."""
import dataclasses

import torch

WINDOW, PREFIX, CAP, DOCUMENTS = 1024, 1024, 20.0, 12
TOKENS = 16384
HEADS = {64: 32, 128: 16, 192: 16, 256: 8}

TEXTS = {
    "full": "",
    "causal": "q >= kv",
    "window": f"(q >= kv) & (q - kv <= {WINDOW})",
    "prefix": f"(kv < {PREFIX}) | (q >= kv)",
    "documents": "capture doc: i32[1]\n(q >= kv) & (doc[q] == doc[kv])",
    "alibi": "mask = q >= kv\nscore = score + (kv - q) * exp2(-0.5 * (h + 1))",
    "softcap": f"mask = q >= kv\nscore = {CAP} * tanh(score / {CAP})",
    "relative": "capture table: bf16[2]\nscore = score + table[h, q - kv + {rows}]",
}


@dataclasses.dataclass(frozen=True)
class Shape:
    """Queries [batches, heads, rows, e], keys and values [batches, kv_heads, rows, e or ev], of one dtype."""

    variant: str
    e: int
    ev: int
    rows: int
    dtype: str = "bfloat16"
    query_heads: int = 0  # 0: HEADS
    kv_heads: int = 0  # 0: as many as query heads
    table_gradient: bool = False  # backward: that of the captured table too

    @property
    def heads(self):
        return self.query_heads or HEADS[self.e]

    @property
    def key_heads(self):
        return self.kv_heads or self.heads

    @property
    def batches(self):
        return max(1, TOKENS * HEADS[self.e] // (self.heads * self.rows))


class Problem:
    def __init__(self, shape):
        self.shape = shape
        generator = torch.Generator(device="cuda").manual_seed(1)
        self.dtype = getattr(torch, shape.dtype)
        self.fresh = lambda heads, width: torch.randn(
            shape.batches, heads, shape.rows, width, device="cuda", generator=generator
        ).to(self.dtype)
        self.q = self.fresh(shape.heads, shape.e)
        self.k, self.v = self.fresh(shape.key_heads, shape.e), self.fresh(shape.key_heads, shape.ev)
        self.captures = {}
        if shape.variant == "documents":
            self.captures["doc"] = document_ids(shape.rows)
        if shape.variant == "relative":
            self.captures["table"] = torch.randn(
                shape.heads, 2 * shape.rows, device="cuda", generator=generator
            ).bfloat16()

    @property
    def text(self):
        return TEXTS[self.shape.variant].replace("{rows}", str(self.shape.rows))

    @property
    def has_score_mod(self):
        return self.shape.variant in ("alibi", "softcap", "relative")

    def mask_mod(self):
        """As FlexAttention takes it; None where every pair is live."""
        doc = self.captures.get("doc")
        causal = lambda b, h, q, kv: q >= kv
        return {
            "full": None,
            "relative": None,
            "window": lambda b, h, q, kv: (q >= kv) & (q - kv <= WINDOW),
            "prefix": lambda b, h, q, kv: (kv < PREFIX) | (q >= kv),
            "documents": lambda b, h, q, kv: (doc[q] == doc[kv]) & (q >= kv),
        }.get(self.shape.variant, causal)

    def score_mod(self):
        table, rows = self.captures.get("table"), self.shape.rows
        return {
            "alibi": lambda s, b, h, q, kv: s + (kv - q) * torch.exp2(-((h + 1) * 0.5)),
            "softcap": lambda s, b, h, q, kv: CAP * torch.tanh(s / CAP),
            "relative": lambda s, b, h, q, kv: s + table[h, q - kv + rows],
        }.get(self.shape.variant)

    def live_keys(self):
        """Per query row, how many keys it sees."""
        q = torch.arange(self.shape.rows)
        if self.shape.variant in ("full", "relative"):
            return torch.full_like(q, self.shape.rows)
        if self.shape.variant == "window":
            return (q + 1).clamp(max=WINDOW + 1)
        if self.shape.variant == "prefix":
            return (q + 1).clamp(min=min(PREFIX, self.shape.rows))
        if self.shape.variant == "documents":
            doc = self.captures["doc"].cpu()
            return q + 1 - torch.searchsorted(doc, doc)
        return q + 1

    def flops(self):
        s = self.shape
        return 2 * s.batches * s.heads * (s.e + s.ev) * int(self.live_keys().sum())


def document_ids(rows):
    generator = torch.Generator().manual_seed(1)
    cuts = torch.sort(torch.randperm(rows - 1, generator=generator)[: DOCUMENTS - 1] + 1).values
    ids = torch.zeros(rows, dtype=torch.int32)
    for cut in cuts.tolist():
        ids[cut:] += 1
    return ids.cuda()
