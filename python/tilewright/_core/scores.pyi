import tilewright._core


PARAMETERS: dict = ...

class ScoreMod:
    @property
    def captures(self) -> list: ...

    def __call__(self, arg0: object, arg1: tilewright._core.Index, arg2: tilewright._core.Index, arg3: tilewright._core.Index, arg4: tilewright._core.Index, /) -> object: ...

def identity(*args) -> ScoreMod:
    """s"""

def times_two(*args) -> ScoreMod:
    """2 s"""

def squared(*args) -> ScoreMod:
    """s * s"""

def causal(*args) -> ScoreMod:
    """s where kv <= q, else -inf"""

def inverse_causal(*args) -> ScoreMod:
    """s where kv >= q, else -inf"""

def relative(*args) -> ScoreMod:
    """s + (q - kv)"""

def relative_causal(*args) -> ScoreMod:
    """s + (q - kv) where kv <= q, else -inf"""

def alibi(*args) -> ScoreMod:
    """s + (kv - q) * 2^(-8 (h + 1) / heads)"""

def head_bias(*args) -> ScoreMod:
    """s + 2 h"""

def softcap(*args) -> ScoreMod:
    """cap * tanh(s / cap)"""

def activation(*args) -> ScoreMod:
    """log(relu(s)^2 + floor)"""

def distance_decay(*args) -> ScoreMod:
    """s - rate * |q - kv|"""

def soft_window(*args) -> ScoreMod:
    """s - slope * max(|q - kv| - width, 0)"""

def sigmoid_window(*args) -> ScoreMod:
    """s + log(sigmoid((width - |q - kv|) / temperature))"""

def then(*args) -> ScoreMod:
    """second(first(s))"""

def sandwich(*args) -> ScoreMod:
    """s + distances[q - kv + offset] * heads / (8 (h + 1))"""

def t5_bucket(*args) -> ScoreMod:
    """s + table[h, buckets[clamp(kv - q, -m, m) + m]], m = max_distance"""

def swin_2d(*args) -> ScoreMod:
    """s + table[h, (dy + w - 1) * (2 w - 1) + dx + w - 1], w = window"""

def relative_table(*args) -> ScoreMod:
    """s + table[h, clamp(q - kv, -m, m) + m], m = max_distance"""

def full_bias(*args) -> ScoreMod:
    """s + bias[b, h, q, kv]"""

def pair_bias(*args) -> ScoreMod:
    """s + bias[h, q, kv]"""

def bias_head(*args) -> ScoreMod:
    """s + bias[h]"""

def bias_query(*args) -> ScoreMod:
    """s + bias[q]"""

def bias_key(*args) -> ScoreMod:
    """s + bias[kv]"""

def bias_batch(*args) -> ScoreMod:
    """s + bias[b]"""

def bias_batch_head(*args) -> ScoreMod:
    """s + bias[b, h]"""

def scale_head_query(*args) -> ScoreMod:
    """s * weights[h, q]"""

def head_scale(*args) -> ScoreMod:
    """s * weights[h]"""

def head_gate(*args) -> ScoreMod:
    """s * sigmoid(gates[h])"""

def graphormer_spatial(*args) -> ScoreMod:
    """s + bias[h, distances[b, q, kv]]"""

def graphormer_edge(*args) -> ScoreMod:
    """s + mean over n of weights[h, n, types[b, q, kv, n]]"""

def mla_rope(*args) -> ScoreMod:
    """
    s + scale * dot(query_rope[b, h, q, :], key_rope[b, h // group, kv, :])
    """

def position_table(*args) -> ScoreMod:
    """s + query_table[q] * key_table[kv]"""

def rbf(*args) -> ScoreMod:
    """
    s + sum over k of weights[h, k] * exp(-((q - kv) - centres[k])^2 * gamma)
    """
