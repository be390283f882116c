"""Prints those of the requirements (name or name==version) that this Python does not have."""

import importlib.metadata
import sys


def is_installed(requirement: str) -> bool:
    name, _, version = requirement.partition("==")
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return not version or found == version


for wanted in sys.argv[1:]:
    if not is_installed(wanted):
        print(wanted)
