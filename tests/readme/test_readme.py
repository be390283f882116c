"""Runs what README.md shows: its examples in Python, C++, text and C, and compares its support matrix with the program's.

test_readme.py --source .. --build .. --cxx c++ --cc cc

An example is a fenced block right after a comment <!-- example: NAME -->; a block <!-- output: NAME --> holds what it must print.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

OPTIONS = argparse.Namespace()
BLOCK = r"<!-- {kind}: {name} -->\n```\w*\n(.*?)```"


def block(kind: str, name: str) -> str:
    readme = (OPTIONS.source / "README.md").read_text()
    found = re.search(BLOCK.format(kind=kind, name=name), readme, re.DOTALL)
    if found is None:
        raise AssertionError(f"README.md has no block '{kind}: {name}'")
    return found[1]


def run(*command: str | Path, folder: Path | None = None) -> str:
    words = [str(word) for word in command]
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(words)}\n{result.stdout}{result.stderr}")
    return result.stdout


class Readme(unittest.TestCase):
    def compiled(self, name: str, suffix: str, compiler: list[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"example{suffix}"
            source.write_text(block("example", name))
            library = OPTIONS.build / "lib"
            run(*compiler, "-Wall", "-Wextra", "-Werror", "-I", OPTIONS.source / "include", source, "-o",
                Path(folder) / "example", "-L", library, f"-Wl,-rpath,{library}", "-ltilewright", *OPTIONS.flags)
            return run(Path(folder) / "example")

    def test_cpp_example(self) -> None:
        self.assertEqual(self.compiled("cpp", ".cpp", [OPTIONS.cxx, "-std=c++20"]), block("output", "cpp"))

    def test_c_example(self) -> None:
        self.assertEqual(self.compiled("c", ".c", [OPTIONS.cc, "-std=c11", "-pedantic"]), block("output", "c"))

    def test_text_example(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "build").symlink_to(OPTIONS.build)
            (Path(folder) / "examples").symlink_to(OPTIONS.source / "examples")
            self.assertRegex(run("bash", "-euc", block("example", "text"), folder=Path(folder)), "passed")

    @unittest.skipUnless((Path(__file__).parents[2] / ".venv/bin/python").exists(), "the package is not built")
    def test_python_example(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "example.py"
            source.write_text(f"import sys; sys.path.insert(0, {str(OPTIONS.build / 'python')!r})\n")
            with source.open("a") as file:
                file.write(block("example", "python"))
            python = OPTIONS.source / ".venv/bin/python"
            self.assertEqual(run(python, source), block("output", "python"))

    def test_examples_are_short(self) -> None:
        for name in ("python", "cpp", "c", "text"):
            lines = [line for line in block("example", name).splitlines() if line and not line.startswith("#include")]
            self.assertLessEqual(len(lines), 12, name)

    def test_support_matrix_is_the_programs(self) -> None:
        readme = (OPTIONS.source / "README.md").read_text()
        found = re.search(r"<!-- kernels -->\n(.*?)<!-- /kernels -->", readme, re.DOTALL)
        assert found is not None
        self.assertEqual(found[1], run(OPTIONS.build / "tilewright", "doctor", "--matrix"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--flags", default="", help="for compiler and linker, such as -fsanitize=address")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.flags = OPTIONS.flags.split()
    unittest.main(argv=[sys.argv[0], *rest])
