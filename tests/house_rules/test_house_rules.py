"""Every rule of scripts/house_rules against one bad example, and against a good tree."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "house_rules"))

from tree import findings  # noqa: E402
from functions import find_functions  # noqa: E402
from cpp_text import split_cpp  # noqa: E402

STAGES = {
    "src/base/CMakeLists.txt": "tilewright_stage(base)\n",
    "src/ir/CMakeLists.txt": "tilewright_stage(ir DEPENDS base)\n",
    "src/base/check.h": "#pragma once\n",
    "src/ir/node.h": '#pragma once\n\n#include "base/check.h"\n',
}
STATEMENT = "  value += 1;\n"


def body(lines: int) -> str:
    return "int f(int value) {\n" + STATEMENT * (lines - 3) + "  return value;\n}\n"


# rule -> (path, text) of a file that breaks it
BAD = {
    "file-length": ("src/base/a.cpp", "int a;\n" * 501),
    "file-name": ("src/base/string_util.cpp", "int a;\n"),
    "function-length": ("src/base/a.cpp", body(81)),
    "nesting": (
        "src/base/a.cpp",
        "void f(int n) {\n  for (;;) {\n    if (n) {\n      while (n) {\n        if (n) { n = 0; }\n"
        "      }\n    }\n  }\n}\n",
    ),
    "parameters": ("src/base/a.cpp", "int f(int a, int b, int c, int d, int e, int g) { return a; }\n"),
    "asm": ("kernels/cuda/tile/a.cuh", '#pragma once\nvoid f() { asm volatile("nop"); }\n'),
    "prints": ("src/base/a.cpp", 'void f() { std::printf("x"); }\n'),
    "environment": ("src/base/a.cpp", 'auto home = std::getenv("HOME");\n'),
    "pragma-once": ("src/base/a.h", "int f();\n"),
    "public-includes": ("include/tilewright/a.h", "#pragma once\n\n#include <fmt/format.h>\n"),
    "exported-block": ("include/tilewright/a.h", "#pragma once\n#pragma GCC visibility push(default)\n"),
    "include-direction": ("src/base/a.cpp", '#include "ir/node.h"\n'),
    "backend-switch": ("src/base/a.cpp", "#ifdef TILEWRIGHT_HAS_LLVM\n#endif\n"),
    "dead-code": ("src/base/a.cpp", "void f() {\n  // int old = f(3);\n}\n"),
    "postponed": ("src/base/a.cpp", "// Good enough for now.\n"),
}

GOOD = {
    "include/tilewright/tensor.h": "#pragma once\n\n#include <vector>\n\n#include \"tilewright/error.h\"\n",
    "src/ir/node.cpp": (
        '#include "ir/node.h"\n\n#include <cstdio>\n\nnamespace tilewright {\n\n'
        "// Prints nothing; asm and printf( in a comment or \"printf(\" in a string are fine.\n"
        "Node::Node(int a, std::vector<int> b) : a_{a}, b_{std::move(b)} {\n"
        '  char text[8];\n  std::snprintf(text, sizeof text, "printf(%d)", a);\n}\n\n'
        + body(40)
        + "}  // namespace tilewright\n"
    ),
    "kernels/cuda/ptx/mma.cuh": (
        "#pragma once\n\ninline void mma(int a, int b, int c, int d, int e, int f) { asm(\"mma\"); }\n"
    ),
}


def check(files: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**STAGES, **files}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [finding.rule for finding in findings(Path(folder)) if finding.fails]


class HouseRules(unittest.TestCase):
    def test_each_rule_finds_its_bad_example_and_nothing_else(self):
        for rule, (path, text) in BAD.items():
            with self.subTest(rule):
                self.assertEqual(check({path: text}), [rule])

    def test_every_rule_has_a_bad_example(self):
        rules = (ROOT / "scripts/house_rules/rules.py").read_text()
        named = {line.split('finding("')[1].split('"')[0] for line in rules.splitlines() if 'finding("' in line}
        self.assertEqual(named, set(BAD))

    def test_good_tree_has_no_finding(self):
        self.assertEqual(check(GOOD), [])


class Functions(unittest.TestCase):
    def found(self, text: str):
        return find_functions(split_cpp(text).code)

    def test_nesting_counts_statements_without_braces_too(self):
        (function,) = self.found("void f() {\n  for (int i = 0; i < 3; ++i)\n    if (i) {\n      g();\n    }\n}\n")
        self.assertEqual(function.nesting, 2)

    def test_a_chain_of_plain_loops_is_one_level(self):
        (function,) = self.found("void f() {\n  for (int i : a)\n    for (int j : b)\n      for (;;) {\n        if (i) { g(); }\n      }\n}\n")
        self.assertEqual(function.nesting, 2)

    def test_else_if_is_one_level(self):
        (function,) = self.found("void f(int a) { if (a) { } else if (a > 1) { } else { } }\n")
        self.assertEqual(function.nesting, 1)

    def test_lambda_as_argument_belongs_to_its_function(self):
        (function,) = self.found("void f() {\n  each(3, [&](int i) {\n    if (i) { g(); }\n  });\n  h();\n}\n")
        self.assertEqual((function.name, function.length, function.nesting), ("f", 6, 1))

    def test_constructor_with_braced_initialisers(self):
        (function,) = self.found("A::A(int a, int b)\n    : a_{a},\n      b_{b} {\n  if (a) { g(); }\n}\n")
        self.assertEqual((function.name, function.parameters, function.nesting), ("A", 2, 1))

    def test_template_arguments_are_not_parameters(self):
        (function,) = self.found("std::map<int, int> f(std::map<int, int> a, Pair<int, int> b = {1, 2}) {}\n")
        self.assertEqual(function.parameters, 2)

    def test_call_operator(self):
        (function,) = self.found("struct S {\n  int operator()(int a, int b) const { return a; }\n};\n")
        self.assertEqual((function.name, function.parameters), ("operator()", 2))

    def test_tables_are_not_functions(self):
        self.assertEqual(self.found("constexpr Row kRows[] = {{1, f(2)}, {3, g(4)}};\nint a{3};\n"), [])

    def test_launch_bounds_are_not_parameters(self):
        (function,) = self.found("__global__ void __launch_bounds__(128, 1) f(int a, int b, int c) {}\n")
        self.assertEqual((function.name, function.parameters), ("f", 3))


if __name__ == "__main__":
    unittest.main()
