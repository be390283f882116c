"""`python -m tilewright.torch script.py ...`: runs a script with flex_attention redirected."""

from __future__ import annotations

import runpy
import sys

from . import patch


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m tilewright.torch [-m module | script.py] [arguments...]")
        return 2
    report = patch()
    arguments = sys.argv[1:]
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        print(report, file=sys.stderr)
        for site in report.sites:
            print(f"  {site}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
