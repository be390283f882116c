"""The package as it is shipped: stubs, names, no torch unless asked."""

import subprocess
import sys
from pathlib import Path

import tilewright

ROOT = Path(__file__).resolve().parents[2]


def test_stubs_are_those_of_the_module():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/python_stubs.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_exists_and_is_documented():
    for name in tilewright.__all__:
        value = getattr(tilewright, name)
        assert name.startswith("__") or name in ("BlockLists", "Bool", "Engine", "Index", "Number", "Program",
                                                 "Score", "Value", "merge_partials", "targets") or value.__doc__, name  # fmt: skip


def test_versions_agree():
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{tilewright.__version__}"' in project
