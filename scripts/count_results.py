"""Closing line of CI: tests of a JUnit file plus checks, as `N passed, N failed, N skipped`.

count_results.py <ctest.xml> <checks passed> <checks failed>; ends with 1 if anything failed or no test ran.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main(results: str, passed_checks: int, failed_checks: int) -> int:
    tests = failed = skipped = 0
    if Path(results).exists():
        suite = ElementTree.parse(results).getroot()
        tests, failed = int(suite.get("tests")), int(suite.get("failures"))
        skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    passed = tests - failed - skipped
    print(f"{passed + passed_checks} passed, {failed + failed_checks} failed, {skipped} skipped")
    return 1 if failed + failed_checks or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
