"""Tests that need whole models: scripts/test_extended.sh makes their environment and runs them."""

import os

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


@pytest.fixture(scope="session")
def implementation():
    pytest.importorskip("transformers", reason="transformers is not installed")
    import tilewright.transformers

    return tilewright.transformers.register()
