"""Tests that need whole models: scripts/test_extended.sh makes their environment and runs them."""

import importlib.util
import os
from pathlib import Path

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")


def folder_of(package: str) -> Path:
    """Where an installed package lies, without running it; skips where it cannot be had."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"the package {package} is not installed (scripts/test_extended.sh installs it)")
    return Path(found.origin).parent


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


@pytest.fixture(scope="session")
def implementation():
    pytest.importorskip("transformers", reason="transformers is not installed")
    import tilewright.transformers

    return tilewright.transformers.register()
