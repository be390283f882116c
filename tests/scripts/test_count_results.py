"""scripts/count_results.py: the closing line of CI and its exit code."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "count_results.py"


def count(suite: str | None, passed_checks: int, failed_checks: int) -> tuple[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "ctest.xml")
        if suite is not None:
            results.write_text(suite)
        command = [sys.executable, SCRIPT, results, str(passed_checks), str(failed_checks)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.returncode


class CountResults(unittest.TestCase):
    def test_all_passed(self):
        suite = '<testsuite tests="7" failures="0" disabled="0" skipped="2"/>'
        self.assertEqual(count(suite, 5, 0), ("10 passed, 0 failed, 2 skipped", 0))

    def test_a_failed_test_fails(self):
        suite = '<testsuite tests="7" failures="1" disabled="0" skipped="0"/>'
        self.assertEqual(count(suite, 4, 1), ("10 passed, 2 failed, 0 skipped", 1))

    def test_a_failed_check_fails(self):
        suite = '<testsuite tests="7" failures="0" disabled="0" skipped="0"/>'
        self.assertEqual(count(suite, 4, 1), ("11 passed, 1 failed, 0 skipped", 1))

    def test_no_result_file_fails(self):
        self.assertEqual(count(None, 4, 0), ("4 passed, 0 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()
