"""Types: the package's own, and what a user's checker is told. Strict about unused ignores, so that every
refusal written down in typed_use.py must happen."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_package_and_its_use_pass_the_type_checker():
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--warn-unused-ignores"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_is_typed():
    import tilewright

    assert Path(tilewright.__file__).with_name("py.typed").exists()
