"""Attention from causal to a tree mask, cell by cell.

Run: .venv/bin/python examples/attention_zoo/zoo.py [FOLDER FOR PICTURES]

Editors that know `# %%` show the cells as a notebook, in which masks draw themselves. As a script it prints
what each cell finds and, where a folder is given, saves the pictures there; heat maps of scores need
matplotlib and are left out without it.
"""

# %% The smallest case: numpy in, numpy out.
import sys
from pathlib import Path

import numpy as np

import tilewright as tw

PICTURES = Path(sys.argv[1]) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
rng = np.random.default_rng(0)
LENGTH, HEADS = 256, 4


def tensor(*shape):
    return rng.standard_normal(shape).astype(np.float32)


query, key, value = (tensor(1, HEADS, LENGTH, 32) for _ in range(3))
out = tw.attention(query, key, value)
print("plain attention:", out.shape, out.dtype)


def show(name, mask_mod, q_len=LENGTH, kv_len=LENGTH, **sizes):
    """Says what a mask skips; its picture is saved, or shown by the notebook."""
    made = tw.mask(mask_mod, q_len, kv_len, **sizes)
    print(f"{name}: {made.live_pairs} of {np.prod(made.shape)} pairs are live, {made.sparsity:.1f} % skipped in tiles")
    if PICTURES:
        PICTURES.mkdir(parents=True, exist_ok=True)
        made.save(str(PICTURES / f"{name.replace(' ', '_')}.svg"))
    return made


def show_score(name, score_mod, size=48, h=0):
    """A heat map of what a score_mod adds to a score of 0."""
    if PICTURES is None:
        return
    try:
        from matplotlib import pyplot
    except ImportError:
        print(f"{name}: no heat map, since matplotlib is not installed")
        return
    pyplot.imsave(PICTURES / f"{name.replace(' ', '_')}.png", tw.score_map(score_mod, size, size, h=h), cmap="coolwarm")


# %% Causal. A mask is a function of batch, head, query and key position; true keeps the pair.
def causal(b, h, q, kv):
    return kv <= q


show("causal", causal)
out = tw.attention(query, key, value, mask_mod=causal)
changed = value.copy()
changed[:, :, 100:] += 1
assert np.array_equal(tw.attention(query, key, changed, mask_mod=causal)[:, :, :100], out[:, :, :100])


# %% A sliding window. The number is read at every call: changing it compiles nothing.
window = 40


def sliding(b, h, q, kv):
    return causal(b, h, q, kv) & (q - kv < window)


show("sliding window", sliding)
tw.attention(query, key, value, mask_mod=sliding)
before = tw.stats()["compiles"]
for window in (30, 20, 60):
    tw.attention(query, key, value, mask_mod=sliding)
assert tw.stats()["compiles"] == before


# %% Documents packed end to end: a captured table, one number a token.
document = np.repeat(np.arange(5), [30, 100, 6, 80, 40]).astype(np.int32)


def packed(b, h, q, kv):
    return (document[q] == document[kv]) & (kv <= q)


show("packed documents", packed)
together = tw.attention(query, key, value, mask_mod=packed)
alone = tw.attention(*(t[:, :, 30:130] for t in (query, key, value)), mask_mod=causal)
np.testing.assert_allclose(together[:, :, 30:130], alone, atol=1e-5)


# %% A prefix that all see, then causal. `if`, `and`, `or` work on positions: both sides are traced.
def prefix(b, h, q, kv):
    if kv < 50:
        return True
    return kv <= q


show("prefix", prefix)
tw.attention(query, key, value, mask_mod=prefix)

# %% The catalogue has these and thirty more, each with its formula and where it comes from.
print(f"{len(tw.masks.__all__)} masks, {len(tw.scores.__all__)} scores; {tw.masks.window.__doc__}")
show("dilated window", tw.masks.dilated_window(48, 3))


# %% Two dimensions: an image of 16 x 16 pixels, each sees a square of 7 x 7 around it (NATTEN).
def neighbourhood(b, h, q, kv):
    y, x, ky, kx = q // 16, q % 16, kv // 16, kv % 16
    centre_y, centre_x = np.clip(y, 3, 12), np.clip(x, 3, 12)
    return (abs(centre_y - ky) <= 3) & (abs(centre_x - kx) <= 3)


seen = show("neighbourhood", neighbourhood).dense()[0, 0]
assert (seen.sum(1) == 49).all()


# %% Scores. ALiBi: a penalty for distance, at a rate of its own in each head.
def alibi(s, b, h, q, kv):
    return s + (kv - q) * np.exp2(-8.0 * (h + 1) / HEADS)


show_score("alibi", alibi)
biased = tw.attention(query, key, value, score_mod=alibi, mask_mod=causal)


# %% A soft cap, and a learned table of distances. One score at a time can be looked at.
table = tensor(HEADS, 2 * LENGTH) * 0.5


def capped_with_table(s, b, h, q, kv):
    return 20 * np.tanh(s / 20) + table[h, q - kv + LENGTH]


show_score("table", capped_with_table)
print(tw.explain(query, key, value, score_mod=capped_with_table, at=(0, 2, 17, 5)))


# %% A tree. Drafted tokens follow a cached prefix; a node sees the prefix and its own ancestors.
PREFIX, parents = 192, [-1, 0, 0, 1, 1, 2, 3, 3, 5]
NODES = len(parents)
ancestor = np.eye(NODES, dtype=bool)
for node, parent in enumerate(parents):
    if parent >= 0:
        ancestor[node] |= ancestor[parent]


def tree(b, h, q, kv):
    return kv < PREFIX or ancestor[q, kv - PREFIX]


show("tree", tree, NODES, PREFIX + NODES)
drafts = tensor(1, HEADS, NODES, 32)
keys, values = tensor(1, HEADS, PREFIX + NODES, 32), tensor(1, HEADS, PREFIX + NODES, 32)
guessed = tw.attention(drafts, keys, values, mask_mod=tree)

# %% What the tree is for: one call checks every branch. Each branch alone, the ordinary causal way, agrees.
for leaf in (4, 7, 8):
    branch = np.flatnonzero(ancestor[leaf])
    rows = np.concatenate([np.arange(PREFIX), PREFIX + branch])
    line = tw.attention(
        drafts[:, :, branch], keys[:, :, rows], values[:, :, rows], mask_mod=lambda b, h, q, kv: kv <= q + PREFIX
    )
    np.testing.assert_allclose(guessed[:, :, branch], line, atol=1e-5)
print("every branch of the tree agrees with its own causal line")
