"""Threads, forked children, logging, and imports in any order."""

import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from native_calls import operands

import tilewright as tw


def test_log_messages_reach_logging(rng, caplog):
    q, k, v = operands(rng)
    with caplog.at_level(logging.DEBUG, "tilewright"):
        engine = tw.Engine({"cache_dir": "none", "compile_policy": "warn"})
        tw.attention(q, k, v, score_mod=lambda s, b, h, q, kv: s * 1.25 + q, engine=engine)
    assert any(record.name == "tilewright" for record in caplog.records)


def test_threads_share_the_engine(rng):
    q, k, v = operands(rng)
    want = [tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: q - kv < w) for w in range(1, 9)]
    got = [None] * 8

    def work(i):
        for _ in range(5):
            got[i] = tw.attention(q, k, v, mask_mod=lambda b, h, q, kv: q - kv < i + 1)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)


def test_a_forked_child_computes(rng):
    q, k, v = operands(rng)
    want = tw.attention(q, k, v)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(tw.attention(q, k, v), want) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("first", ["torch", "tilewright"])
def test_import_in_both_orders(first):
    pytest.importorskip("torch")
    order = ["torch", "tilewright"] if first == "torch" else ["tilewright", "torch"]
    extra = "\nimport importlib.util as u\nfor m in ('llvmlite.binding', 'triton'):\n"
    extra += "    if u.find_spec(m.split('.')[0]): __import__(m)\n"
    code = f"import {order[0]}\nimport {order[1]}{extra}"
    code += "import numpy as np\nx = np.ones((1, 1, 8, 8), np.float32)\n"
    code += "assert (tilewright.attention(x, x, x, score_mod=lambda s, b, h, q, kv: s * s) == 1).all()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import tilewright; assert tilewright.targets()"
    subprocess.run([sys.executable, "-c", code], check=True)
