"""clang-tidy on the sources of the library and the program: python3 scripts/tidy.py [--build build]

Files changed last come first; no new file starts after --seconds, and what was left out is said.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("src", "tools", "kernels/cpu")


def compiled_files(build: Path) -> list[str]:
    commands = json.loads((build / "compile_commands.json").read_text())
    names = {os.path.relpath(entry["file"], ROOT) for entry in commands}
    return [name for name in names if name.startswith(tuple(f"{folder}/" for folder in CHECKED))]


def last_changed_first(names: list[str]) -> list[str]:
    git = ["git", "-C", str(ROOT), "log", "-n", "300", "--format=", "--name-only"]
    log = subprocess.run(git, capture_output=True, text=True, check=False).stdout.split()
    age = {name: position for position, name in reversed(list(enumerate(log)))}
    return sorted(names, key=lambda name: (age.get(name, len(log)), name))


def tidy(name: str, build: Path, deadline: float) -> tuple[str, bool | None, str]:
    """The file, whether it is clean (None: the time was over), and what clang-tidy said."""
    if time.monotonic() > deadline:
        return name, None, ""
    command = ["clang-tidy-19", "--quiet", "-p", str(build), str(ROOT / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return name, done.returncode == 0, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()

    deadline = time.monotonic() + options.seconds
    names = last_changed_first(compiled_files(options.build))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda name: tidy(name, options.build, deadline), names))

    for _, clean, text in results:
        if clean is False:
            print(text)
    unclean = [name for name, clean, _ in results if clean is False]
    left_out = [name for name, clean, _ in results if clean is None]
    print(f"tidy: {len(names) - len(left_out)} files checked, {len(unclean)} with findings, "
          f"{len(left_out)} left out after {options.seconds:.0f} s")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
