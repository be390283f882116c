"""Which room may include which: read from the tilewright_stage() lines of CMake, so said once."""

import re
from pathlib import Path

STAGE = re.compile(r"tilewright_stage\((\w+)([^)]*)\)")
OPTIONS = {"FLAT", "DEPENDS", "EXCEPT", "SOURCES"}


def stages(root: Path) -> dict[str, set[str]]:
    """Folder below the root -> folders that its sources may include from, itself among them."""
    folder_of: dict[str, str] = {}
    depends: dict[str, set[str]] = {}
    for cmake in [*root.glob("src/**/CMakeLists.txt"), *root.glob("kernels/**/CMakeLists.txt")]:
        for name, rest in STAGE.findall(cmake.read_text()):
            folder_of[name] = str(cmake.parent.relative_to(root))
            depends.setdefault(name, set()).update(after_depends(rest))
    return {
        folder_of[name]: {folder_of[n] for n in closure(name, depends) if n in folder_of}
        for name in folder_of
    }


def after_depends(arguments: str) -> set[str]:
    found: set[str] = set()
    inside = False
    for word in arguments.split():
        if word in OPTIONS:
            inside = word == "DEPENDS"
        elif inside:
            found.add(word)
    return found


def closure(name: str, depends: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting.extend(depends.get(current, ()))
    return reached


def owner(folder: str, known: dict[str, set[str]]) -> str | None:
    """The innermost stage whose folder holds `folder`."""
    while folder and folder != ".":
        if folder in known:
            return folder
        folder = str(Path(folder).parent)
    return None
