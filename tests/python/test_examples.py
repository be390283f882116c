"""The scripts of examples/ run, and do what they say."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_attention_zoo(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "attention_zoo/zoo.py", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every branch of the tree agrees" in done.stdout
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert {"causal", "sliding_window", "packed_documents", "tree"} <= drawn
    for path in tmp_path.glob("*.svg"):
        assert path.read_text().startswith("<svg") and "M0 0" in path.read_text()


def test_tiny_transformer_loses_what_dense_fp64_does():
    pytest.importorskip("torch")
    import tilewright

    found = importlib.util.spec_from_file_location("train", EXAMPLES / "tiny_transformer/train.py")
    example = importlib.util.module_from_spec(found)
    found.loader.exec_module(example)
    example.train(1)
    before = tilewright.stats()["compiles"]
    fused, dense = example.train(60)
    assert tilewright.stats()["compiles"] == before
    assert abs(fused.late_loss() / dense.late_loss() - 1) < 0.01
    assert fused.late_loss() < 0.75 * fused.losses[0]
