"""clang-tidy on the sources of the library and the program: python3 scripts/tidy.py [--build build]

Files of the latest commits come first; the others follow in an order that changes with every commit, so that a
limited run covers a different part of them each time. No new file starts after --seconds, and what was left out is
said. A file found clean is not checked again while it, what it includes and .clang-tidy stay the same: the record lies
in the build folder.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = ("src", "tools", "kernels/cpu")
LATEST_COMMITS = 20
# The commands are g++'s; its std::stable_sort uses what C++17 deprecates; the embedded kernel sources are long constants.
CLANG_FLAGS = ("-Wno-unknown-warning-option", "-Wno-deprecated-declarations", "-fconstexpr-steps=100000000")


def sources_of(file: Path) -> list[Path]:
    """The file itself; the sources that CMake joined in it, where it did: they cost one parse of their headers."""
    if file.parent.name != "Unity":
        return [file]
    return [Path(name) for name in re.findall(r'#include "(.*?)"', file.read_text())]


def compiled_files(build: Path) -> dict[str, list[str]]:
    """What the compiler is given, with the checked sources that each holds."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        sources = [os.path.relpath(source, ROOT) for source in sources_of(Path(entry["file"]))]
        checked = [name for name in sources if name.startswith(tuple(f"{folder}/" for folder in CHECKED))]
        if checked:
            found[os.path.relpath(entry["file"], ROOT)] = checked
    return found


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def in_order(files: dict[str, list[str]]) -> list[str]:
    git = ("git", "-C", str(ROOT))
    latest = set(output_of(*git, "log", "-n", str(LATEST_COMMITS), "--format=", "--name-only").split())
    head = output_of(*git, "rev-parse", "HEAD")
    turn = {name: hashlib.sha256((head + name).encode()).hexdigest() for name in files}
    return sorted(files, key=lambda name: (latest.isdisjoint(files[name]), turn[name]))


def included_files(build: Path) -> dict[str, list[Path]]:
    """By source: the files of this tree that its object was made from, as ninja knows them."""
    found: dict[str, list[Path]] = {}
    files: list[Path] = []
    for line in output_of("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith(" "):
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT):
                files.append(path)
                found.setdefault(str(path.relative_to(ROOT)), files)
        else:
            files = []
    return found


def state_of(name: str, files: list[Path]) -> str:
    state = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for path in sorted({ROOT / name, *files}):
        state.update(path.read_bytes() if path.exists() else b"")
    return state.hexdigest()


class Record:
    """What was found clean, in which state."""

    def __init__(self, build: Path):
        self.path = build / "tidy_clean.json"
        self.states = json.loads(self.path.read_text()) if self.path.exists() else {}
        includes = included_files(build)
        self.now = lambda name: state_of(name, includes.get(name, []))

    def knows(self, name: str) -> bool:
        return self.states.get(name) == self.now(name)

    def add(self, name: str) -> None:
        self.states[name] = self.now(name)
        self.path.write_text(json.dumps(self.states, indent=1, sort_keys=True))


def tidy(name: str, build: Path, deadline: float, record: Record) -> tuple[str, bool | None, str]:
    """The file, whether it is clean (None: the time was over), and what clang-tidy said."""
    if record.knows(name):
        return name, True, ""
    if time.monotonic() > deadline:
        return name, None, ""
    command = ["clang-tidy-19", "--quiet", *(f"--extra-arg={flag}" for flag in CLANG_FLAGS), "-p", str(build), str(ROOT / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        record.add(name)
    return name, done.returncode == 0, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()

    deadline = time.monotonic() + options.seconds
    names = in_order(compiled_files(options.build))
    record = Record(options.build)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda name: tidy(name, options.build, deadline, record), names))

    for _, clean, text in results:
        if clean is False:
            print(text)
    unclean = [name for name, clean, _ in results if clean is False]
    left_out = [name for name, clean, _ in results if clean is None]
    print(f"tidy: {len(names) - len(left_out)} of {len(names)} files checked, {len(unclean)} with findings, "
          f"{len(left_out)} left out after {options.seconds:.0f} s")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
