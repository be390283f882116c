"""No inline function that a micro-kernel file needs a wider instruction set for may serve other files.

test_micro_kernel_symbols.py <archive of micro-kernels> [other archive...]: the linker keeps one copy of a
weak symbol. If one file has it compiled for AVX-512 and another for any CPU, the wrong one may win.
"""

import re
import subprocess
import sys
from collections import defaultdict

INSTRUCTION_SET = re.compile(r"(?:_|^)(amx_bf16|avx512_bf16|avx512|avx2)\.cpp\.o$")
WEAK = set("WVu")


def defined_symbols(archive: str) -> list[tuple[str, str, str]]:
    """(object, kind, name) of everything that the archive defines."""
    listing = subprocess.run(["nm", "-A", "--defined-only", archive], check=True, capture_output=True, text=True)
    rows = []
    for line in listing.stdout.splitlines():
        place, _, rest = line.rpartition(":") if ".o:" not in line else line.partition(".o:")
        _, kind, name = rest.split(maxsplit=2)
        rows.append((place.rpartition(":")[2] + ".o", kind, name))
    return rows


def instruction_set(object_name: str) -> str:
    found = INSTRUCTION_SET.search(object_name)
    return found[1] if found else "any"


def main(archives: list[str]) -> int:
    sets = defaultdict(set)
    for archive in archives:
        for object_name, kind, name in defined_symbols(archive):
            if kind in WEAK:
                sets[name].add(instruction_set(object_name))
    if not sets:
        print("no weak symbol found in", archives, "- is this test given the right files?")
        return 1
    shared = {name: found for name, found in sets.items() if len(found) > 1}
    for name, found in sorted(shared.items()):
        print(f"{name} is compiled for {', '.join(sorted(found))}")
    return 1 if shared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
