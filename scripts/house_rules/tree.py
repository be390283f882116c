"""Applies every rule to every source file of a tree."""

import subprocess
from pathlib import Path, PurePosixPath

import layers
from rules import CPP, RULES, Finding, SourceFile

CHECKED = CPP | {".py", ".sh", ".cmake"}
# The checker names what it looks for, and its test is made of bad examples.
EXEMPT = ("scripts/house_rules", "tests/house_rules")


def listed_files(root: Path) -> list[PurePosixPath]:
    git = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )
    names = git.stdout.splitlines() if git.returncode == 0 else [
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()
    ]
    return [PurePosixPath(name) for name in sorted(set(names)) if (root / name).is_file()]


def findings(root: Path) -> list[Finding]:
    stages = layers.stages(root)
    found: list[Finding] = []
    for path in listed_files(root):
        is_code = path.suffix in CHECKED or path.name == "CMakeLists.txt"
        if is_code and not any(path.is_relative_to(folder) for folder in EXEMPT):
            file = SourceFile(root, path, stages)
            for rule in RULES:
                found.extend(rule(file))
    return found
