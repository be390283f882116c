"""Models that ship inside PyPI packages."""

import importlib.util
from pathlib import Path

import pytest


def folder_of(package: str) -> Path:
    """Where an installed package lies, without running it; skips where it cannot be had."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"the package {package} is not installed (scripts/test_extended.sh installs it)")
    return Path(found.origin).parent
