"""A call of tilewright.attention on numpy arrays beside the dense computation."""

import numpy as np
from dense import assert_close, assert_stats, dense_numpy

import tilewright as tw


def operands(rng, batch=2, heads=4, kv_heads=2, q_len=65, kv_len=70, dim=32, value_dim=16, dtype=np.float32):
    shape = (batch, kv_heads, kv_len)
    return (
        rng.standard_normal((batch, heads, q_len, dim)).astype(dtype),
        rng.standard_normal((*shape, dim)).astype(dtype),
        rng.standard_normal((*shape, value_dim)).astype(dtype),
    )


def check(query, key, value, *, dense_score=None, dense_mask=None, dtype="float32", scale=None, **call):
    got = tw.attention(query, key, value, return_lse=True, return_max_scores=True, scale=scale, **call)
    arguments = dict(score=dense_score, mask=dense_mask, scale=scale)
    want = dense_numpy(query, key, value, **arguments)
    plain = np.float64 if dtype == "float64" else np.float32
    ref = dense_numpy(query, key, value, **arguments, dtype=plain)[0]
    if dtype in ("float16", "bfloat16"):
        ref = ref.astype(query.dtype)
    assert got.out.dtype == query.dtype
    assert_close(got.out, want[0], ref, dtype)
    assert_stats(got.lse, want[1], dtype)
    assert_stats(got.max_scores, want[2], dtype)
    return got
