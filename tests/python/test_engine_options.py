"""The options of the shared engine are those of C++'s EngineOptions, by the same names."""

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core

HEADER = Path(__file__).resolve().parents[2] / "include/tilewright/engine.h"


@pytest.fixture(autouse=True)
def restored():
    yield
    tw.configure(fast_functions=False, checked=False, deterministic=False, threads=0)


def test_every_option_of_the_header_is_known():
    body = re.search(r"struct EngineOptions \{(.*?)\n\};", HEADER.read_text(), re.S).group(1)
    fields = set(re.findall(r"^  [\w:<> ]+? (\w+)(?: = [^;]+)?;", body, re.M)) - {"host"}
    assert {"threads", "fast_functions", "nvrtc"} <= fields
    assert fields == set(_core.engine_option_names())


def test_options_are_taken_and_unknown_ones_named():
    tw.configure(fast_functions=True, checked=True, deterministic=True, threads=1)
    x = np.ones((1, 1, 20, 16), np.float32)
    assert np.allclose(tw.attention(x, x, x, score_mod=lambda s, b, h, q, kv: np.tanh(s)), 1)
    tw.check_device_errors()
    with pytest.raises(TypeError, match="no option 'fast_function'.*fast_functions"):
        tw.configure(fast_function=True)
    with pytest.raises(TypeError, match="require_fast"):
        tw.configure(require_fast=True)
