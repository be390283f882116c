"""Checks the rules of the house (docs/architecture.md): python3 scripts/house_rules [--root DIR] [--quiet]

Prints one line a finding, warnings too, and ends with 1 if any rule is broken past its hard stop.
"""

import argparse
import sys
from pathlib import Path

from tree import findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--quiet", action="store_true", help="print failures only")
    options = parser.parse_args()

    found = findings(options.root)
    failures = [finding for finding in found if finding.fails]
    for finding in failures if options.quiet else found:
        level = "error" if finding.fails else "warning"
        print(f"{finding.path}:{finding.line}: {level}: {finding.text} [{finding.rule}]")
    print(f"house rules: {len(failures)} broken, {len(found) - len(failures)} warnings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
