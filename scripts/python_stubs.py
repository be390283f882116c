"""Writes the typed stubs of the extension module: scripts/python_stubs.py [--check]

With --check it writes nothing and fails where the checked-in stubs are not those of the build tree.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUBS = ROOT / "python/tilewright/_core"
# What the generator does not see: the version, and what the package's Python half gives the handles.
ADDED = {
    "class View:\n": "__version__: str\n\n\nclass View:\n",
    "class Value:\n": "class Value:\n    __torch_function__: Any\n\n    def __getattr__(self, name: str) -> Any: ...\n\n",
    "class BlockLists:\n": "class BlockLists:\n    kept: Any\n\n",
}


def fresh(folder: Path) -> dict[str, str]:
    """The stubs of the module alone, without what the package adds when it is imported."""
    package = folder / "tilewright"
    package.mkdir()
    (package / "__init__.py").touch()
    for module in (ROOT / "build/python/tilewright").glob("_core*.so"):
        (package / module.name).symlink_to(module)
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-i", folder, "-m", "tilewright._core"]
    subprocess.run([*map(str, command), "-r", "-O", str(folder / "stubs")], check=True, cwd=folder)
    stubs = {file.name: file.read_text() for file in (folder / "stubs/_core").glob("*.pyi")}
    main = stubs["__init__.pyi"]
    for line, more in ADDED.items():
        main = main.replace(line, more, 1)
    stubs["__init__.pyi"] = "from typing import Any\n" + main
    return stubs


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        stubs = fresh(Path(folder))
    if "--check" not in sys.argv:
        STUBS.mkdir(exist_ok=True)
        for name, text in stubs.items():
            (STUBS / name).write_text(text)
        return 0
    stale = [name for name, text in stubs.items() if (STUBS / name).read_text() != text]
    if stale:
        print(f"stale stubs: {', '.join(stale)}; run scripts/python_stubs.py")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
