"""Attention as one plain dense computation, and the tolerance of docs/semantics.md."""

import numpy as np

EPS = {"float64": 1e-11, "float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}


def dense_numpy(query, key, value, *, score=None, mask=None, scale=None, dtype=np.float64):
    """out, lse, max_scores in `dtype`. score(s, b, h, q, kv) and mask(b, h, q, kv) take index arrays."""
    q, k, v = (np.asarray(x).astype(dtype) for x in (query, key, value))
    group = q.shape[1] // k.shape[1]
    k, v = (np.broadcast_to(np.repeat(x, group, 1), (q.shape[0], q.shape[1], *x.shape[2:])) for x in (k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s = np.einsum("bhqe,bhke->bhqk", q, k) * dtype(scale)
    b, h, i, j = np.meshgrid(*(np.arange(n) for n in s.shape), indexing="ij", sparse=True)
    if score is not None:
        s = np.broadcast_to(score(s, b, h, i, j), s.shape).astype(dtype)
    if mask is not None:
        s = np.where(np.broadcast_to(mask(b, h, i, j), s.shape), s, -np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        top = s.max(-1, initial=-np.inf, keepdims=True)
        p = np.exp(s - np.where(np.isfinite(top), top, 0))
        total = p.sum(-1, keepdims=True)
        lse = (np.log(total) + np.where(np.isfinite(top), top, 0))[..., 0]
        out = np.einsum("bhqk,bhkv->bhqv", p, v) / np.where(total == 0, 1, total)
    return out, np.where(total[..., 0] == 0, -np.inf, lse), top[..., 0]


def on_host(x):
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x, dtype=np.float64)


def assert_close(got, want, ref, dtype="float32", factor=1.0):
    """R-tolerance: `want` is the fp64 meaning, `ref` a plain computation in the input dtype."""
    got, want, ref = (on_host(x) for x in (got, want, ref))
    assert got.shape == want.shape
    assert not np.isnan(got).any()
    eps = EPS[dtype] * factor
    error, reference = np.abs(got - want), np.abs(ref - want)
    top = np.abs(want).max(initial=0)
    assert error.max(initial=0) <= 2 * reference.max(initial=0) + eps * top
    if got.size:
        assert error.mean() <= 1.2 * reference.mean() + eps / 10 * np.abs(want).mean()


def assert_stats(got, want, dtype="float32"):
    got, want = on_host(got), on_host(want)
    infinite = np.isinf(want)
    assert (got[infinite] == want[infinite]).all()
    bound = (1e-11 if dtype == "float64" else 1e-5) * np.maximum(1, np.abs(want[~infinite]))
    assert (np.abs(got[~infinite] - want[~infinite]) <= bound).all()
