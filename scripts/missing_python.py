"""Prints those of the requirements (name or name==version) that this Python does not have."""

import importlib.metadata
import sys


def is_installed(requirement: str) -> bool:
    name, _, version = requirement.partition("==")
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    # A local label names a build of the same release: 2.13.0+cpu is 2.13.0.
    return not version or version in (found, found.partition("+")[0])


for wanted in sys.argv[1:]:
    if not is_installed(wanted):
        print(wanted)
