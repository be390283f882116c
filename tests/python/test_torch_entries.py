"""flash_attn_func, flash_attn_varlen_func, scaled_dot_product_attention and patch()."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import tilewright as tw
from tilewright.torch import flash_attn_func, flash_attn_varlen_func, patch, scaled_dot_product_attention, unpatch


@pytest.fixture(autouse=True)
def no_grad():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("lengths", [(40, 40), (13, 40), (40, 13)])
@pytest.mark.parametrize("window", [(-1, -1), (7, 0), (5, 3), (-1, 4)])
@pytest.mark.parametrize("causal", [False, True])
def test_flash_windows_align_the_last_query_with_the_last_key(lengths, window, causal):
    q = torch.randn(2, lengths[0], 4, 16)
    k, v = torch.randn(2, 2, lengths[1], 2, 16)
    out, lse = flash_attn_func(q, k, v, causal=causal, window_size=window, return_lse=True)
    i = torch.arange(lengths[0])[:, None] + lengths[1] - lengths[0]
    j = torch.arange(lengths[1])[None]
    left, right = window
    keep = torch.ones(lengths, dtype=torch.bool)
    if causal:
        keep &= j <= i
    if left >= 0:
        keep &= j >= i - left
    if right >= 0:
        keep &= j <= i + right
    want = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=keep, enable_gqa=True
    ).transpose(1, 2)
    empty = ~keep.any(-1)
    want[:, empty] = 0
    torch.testing.assert_close(out, want, atol=2e-6, rtol=1e-5)
    assert torch.isneginf(lse[:, :, empty]).all() and lse.shape == (2, 4, lengths[0])


def test_flash_softcap_and_alibi():
    q, k, v = torch.randn(3, 2, 30, 4, 16)
    slopes = torch.rand(4)
    got = flash_attn_func(q, k, v, softcap=3.0, alibi_slopes=slopes, causal=True)
    s = torch.einsum("bqhd,bkhd->bhqk", q, k) / 4
    i, j = torch.arange(30)[:, None], torch.arange(30)[None]
    s = 3 * torch.tanh(s / 3) - slopes[:, None, None] * (i - j).abs()
    p = s.masked_fill(j > i, -torch.inf).softmax(-1)
    torch.testing.assert_close(got, torch.einsum("bhqk,bkhd->bqhd", p, v), atol=2e-6, rtol=1e-5)
    with pytest.raises(tw.UnsupportedError, match="dropout"):
        flash_attn_func(q, k, v, dropout_p=0.1)


def test_varlen_equals_each_sequence_alone():
    q_bounds, k_bounds = [0, 12, 12, 40], [0, 20, 25, 60]
    q, (k, v) = torch.randn(40, 4, 16), torch.randn(2, 60, 2, 16)
    out, lse = flash_attn_varlen_func(
        q, k, v, torch.tensor(q_bounds, dtype=torch.int32), torch.tensor(k_bounds, dtype=torch.int32), 28, 35,
        causal=True, window_size=(9, -1), return_lse=True,
    )  # fmt: skip
    assert lse.shape == (4, 40)
    for n in (0, 2):
        a, z, c, d = q_bounds[n], q_bounds[n + 1], k_bounds[n], k_bounds[n + 1]
        want = flash_attn_func(q[None, a:z], k[None, c:d], v[None, c:d], causal=True, window_size=(9, -1))
        torch.testing.assert_close(out[a:z], want[0])


@pytest.mark.parametrize("mask", [None, "bool", "float", "row", "causal"])
def test_scaled_dot_product_attention(mask):
    q, k, v = torch.randn(3, 2, 4, 30, 16)
    table = {"bool": torch.rand(2, 1, 30, 30) > 0.3, "float": torch.randn(30, 30), "row": torch.randn(2, 1, 1, 30)}
    options = {"is_causal": True} if mask == "causal" else {"attn_mask": table.get(mask)}
    want = F.scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, **options), want, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(scaled_dot_product_attention(q[0], k[0], v[0]), F.scaled_dot_product_attention(q[0], k[0], v[0]), atol=2e-6, rtol=1e-5)


def test_patch_redirects_names_already_imported():
    from torch.nn.attention import flex_attention as theirs

    import sites_of_others

    before = sites_of_others.flex_attention
    report = patch()
    try:
        assert patch() is report
        q = torch.randn(1, 2, 200, 16)
        out = sites_of_others.attend(q)
        compiled = sites_of_others.compiled(q, q, q)
        assert out.shape == compiled.shape
        assert report.calls == {"create_block_mask": 1, "flex_attention": 2}
        assert "sites_of_others.flex_attention" in report.sites and "sites_of_others.compiled" in report.sites
    finally:
        unpatch()
    assert sites_of_others.flex_attention is before is theirs.flex_attention


def test_python_dash_m(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch\nfrom torch.nn.attention.flex_attention import flex_attention\n"
        "q = torch.randn(1, 1, 64, 8)\nprint(flex_attention(q, q, q).shape, sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tilewright.torch", str(script), "argument"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "['argument']" in done.stdout and "calls: flex_attention 1" in done.stderr
