"""scripts/setup.sh: what it says and returns, without ever installing anything."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def setup(*groups: str, system: str, path: str | None = None) -> subprocess.CompletedProcess:
    """Runs setup.sh with NO_INSTALL=1 on an /etc/os-release that says `system`."""
    with tempfile.NamedTemporaryFile("w") as release:
        name, _, version = system.partition(" ")
        release.write(f'ID={name}\nVERSION_ID="{version}"\n')
        release.flush()
        environment = {**os.environ, "NO_INSTALL": "1", "TILEWRIGHT_OS_RELEASE": release.name}
        if path:
            environment["PATH"] = path + ":" + environment["PATH"]
        return subprocess.run(
            [ROOT / "scripts/setup.sh", *groups], env=environment, capture_output=True, text=True, check=False
        )


def fake_dpkg(folder: str, installed: str) -> None:
    program = Path(folder, "dpkg-query")
    program.write_text(f"#!/bin/sh\necho {installed}\n")
    program.chmod(0o755)


class Setup(unittest.TestCase):
    def test_unknown_system_is_named_with_what_to_install(self):
        done = setup("build", system="fedora 40")
        self.assertEqual(done.returncode, 3)
        self.assertIn("this system is 'fedora 40'", done.stderr)
        self.assertIn("llvm-19-dev", done.stderr)

    def test_nothing_missing(self):
        for system in ("debian 12", "debian 13", "ubuntu 24.04"):
            with self.subTest(system), tempfile.TemporaryDirectory() as folder:
                fake_dpkg(folder, "installed")
                done = setup("build", system=system, path=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("everything is installed", done.stdout)

    def test_no_install_lists_what_is_missing_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            fake_dpkg(folder, "not-installed")
            done = setup("build", "lint", system="debian 12", path=folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("llvm-19-dev", done.stdout)
        self.assertIn("clang-format-19", done.stdout)
        self.assertNotIn("libgtest-dev", done.stdout)


if __name__ == "__main__":
    unittest.main()
