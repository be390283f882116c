"""The Python tests run against the package of the build tree, or of an installed wheel."""

import os

import numpy as np
import pytest

try:
    import torch
except ImportError:
    torch = None
    if os.environ.get("CI"):
        raise
    collect_ignore_glob = ["test_torch_*.py"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


if torch is not None:

    @pytest.fixture(autouse=True)
    def seeded():
        torch.manual_seed(7)
