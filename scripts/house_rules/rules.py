"""One function per rule of the house; each yields findings for one file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import layers
from cpp_text import CppText, line_of, split_cpp
from functions import Function, find_functions

HEADERS = {".h", ".hpp", ".cuh"}
CPP = HEADERS | {".c", ".cpp", ".cu"}
BANNED_NAMES = {"util", "utils", "helper", "helpers", "common", "misc"}
PRINTS = re.compile(
    r"(?<![\w.>])(?:std::)?(?:(?:f|v|vf)?printf|puts|fputs|putchar|perror|abort|exit|_exit|quick_exit"
    r"|terminate)\s*\(|\bstd::(?:cout|cerr|clog)\b|\bfmt::print(?:ln)?\s*\("
)
POSTPONED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|\bfor now\b", re.IGNORECASE)
CODE_IN_COMMENT = re.compile(
    r"^(?:[\w:<>*&\s]+\s[\w\[\]]+\s*=[^=].*;|[\w:.>-]+\(.*\);|return\b.*;|(?:if|for|while|switch)\s*\(.*[{;]"
    r"|#\s*(?:include|define|if)\b.*|(?:auto|const|int|float)\s.*[;{])$"
)
BACKEND_SWITCH = re.compile(r"^#\s*(?:el)?if.*\b\w*(?:CUDA|LLVM|AVX|AMX)\w*")
STANDARD_INCLUDE = re.compile(r"<(?:[a-z_]+|std[a-z]+\.h)>$")
INCLUDE = re.compile(r'^#\s*include\s*(["<])([^">]+)[">]')


@dataclass(frozen=True)
class Finding:
    rule: str
    path: str
    line: int
    text: str
    fails: bool = True


@dataclass(frozen=True)
class SourceFile:
    root: Path
    path: PurePosixPath  # relative to the root
    stages: dict[str, set[str]]

    @cached_property
    def text(self) -> str:
        return (self.root / self.path).read_text(errors="replace")

    @cached_property
    def cpp(self) -> CppText | None:
        return split_cpp(self.text) if self.path.suffix in CPP else None

    @cached_property
    def functions(self) -> list[Function]:
        return find_functions(self.cpp.code) if self.cpp else []

    def inside(self, *folders: str) -> bool:
        return any(self.path.is_relative_to(folder) for folder in folders)

    def finding(self, rule: str, line: int, text: str, fails: bool = True) -> Finding:
        return Finding(rule, str(self.path), line, text, fails)


def file_length(file: SourceFile) -> Iterator[Finding]:
    lines = file.text.count("\n")
    if lines > 300:
        yield file.finding("file-length", 1, f"{lines} lines, at most 300 (hard stop 500)", lines > 500)


def file_name(file: SourceFile) -> Iterator[Finding]:
    for part in (*file.path.parts[:-1], file.path.name.split(".")[0]):
        if BANNED_NAMES & set(re.split(r"[_\-]", part.lower())):
            yield file.finding("file-name", 1, f"'{part}' says nothing about what the file produces")


def function_length(file: SourceFile) -> Iterator[Finding]:
    kernel = file.inside("kernels")
    for function in file.functions:
        if function.length > 80 or (function.length > 40 and not kernel):
            text = f"{function.name} has {function.length} lines, at most 40 (hard stop and kernels 80)"
            yield file.finding("function-length", function.line, text, function.length > 80)


def nesting(file: SourceFile) -> Iterator[Finding]:
    most = 4 if file.inside("kernels") else 3
    for function in file.functions:
        if function.nesting > most:
            text = f"{function.name} nests {function.nesting} deep, at most {most}"
            yield file.finding("nesting", function.line, text)


def parameters(file: SourceFile) -> Iterator[Finding]:
    if file.inside("kernels/cuda/ptx"):
        return  # one instruction a function: its operands are what they are
    if file.inside("tests/fake_cuda"):
        return  # stands for libraries whose functions have the parameters they have
    for function in file.functions:
        if function.parameters > 5:
            text = f"{function.name} takes {function.parameters} parameters, at most 5, else a struct"
            yield file.finding("parameters", function.line, text)


def assembly(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None or file.inside("kernels/cuda/ptx"):
        return
    for match in re.finditer(r"\b(?:asm|__asm__)\b", file.cpp.code):
        yield file.finding("asm", line_of(file.cpp.code, match.start()), "asm lives in kernels/cuda/ptx/")


def prints(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None or not file.inside("src", "include", "kernels"):
        return
    for match in PRINTS.finditer(file.cpp.code):
        text = f"'{match[0].strip()}': the library never prints and never ends the process"
        yield file.finding("prints", line_of(file.cpp.code, match.start()), text)


def environment(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None or not file.inside("src", "include", "kernels") or str(file.path) == "src/config.cpp":
        return
    for match in re.finditer(r"\b(?:secure_)?getenv\s*\(", file.cpp.code):
        text = "environment variables are read once, in src/config.cpp"
        yield file.finding("environment", line_of(file.cpp.code, match.start()), text)


def pragma_once(file: SourceFile) -> Iterator[Finding]:
    if file.path.suffix in HEADERS and not any(
        d.text.split() == ["#pragma", "once"] for d in file.cpp.directives
    ):
        yield file.finding("pragma-once", 1, "a header starts with #pragma once")


def public_includes(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None or not file.inside("include"):
        return
    for directive in file.cpp.directives:
        found = INCLUDE.match(directive.text)
        own = found and found[1] == '"' and found[2].startswith("tilewright/")
        if found and not own and not STANDARD_INCLUDE.search(directive.text):
            text = f"'{found[2]}': public headers include the standard library only"
            yield file.finding("public-includes", directive.line, text)


def exported_block(file: SourceFile) -> Iterator[Finding]:
    """A push without its pop would export whatever the includer declares next."""
    if file.cpp is None or not file.inside("include"):
        return
    words = [d.text.split() for d in file.cpp.directives]
    visibility = [w[3] for w in words if w[:3] == ["#pragma", "GCC", "visibility"]]
    if sum(1 if word.startswith("push") else -1 for word in visibility) != 0:
        yield file.finding("exported-block", 1, "#pragma GCC visibility push and pop come in pairs")


def include_direction(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None or not file.inside("src", "kernels"):
        return
    own = layers.owner(str(file.path.parent), file.stages)
    for directive in file.cpp.directives:
        found = INCLUDE.match(directive.text)
        if not found or found[1] != '"':
            continue
        room = included_room(file, found[2])
        if room is not None and (own is None or room not in file.stages[own]):
            text = f"{own or file.path.parent} may not use {room} (\"{found[2]}\"): stages look back only"
            yield file.finding("include-direction", directive.line, text)


def included_room(file: SourceFile, name: str) -> str | None:
    """The stage that an included name belongs to; None for what is not a stage's."""
    beside = file.root / file.path.parent / name
    for candidate in (beside, file.root / "src" / name, file.root / name):
        if candidate.is_file():
            folder = candidate.resolve().parent.relative_to(file.root.resolve())
            return layers.owner(str(folder), file.stages)
    return None


def backend_switch(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None or not file.inside("src"):
        return
    for directive in file.cpp.directives:
        if BACKEND_SWITCH.match(directive.text):
            yield file.finding("backend-switch", directive.line, "no #if on a backend: CMake picks the files")


def dead_code(file: SourceFile) -> Iterator[Finding]:
    if file.cpp is None:
        return
    for directive in file.cpp.directives:
        if re.match(r"#\s*if\s+0\b", directive.text):
            yield file.finding("dead-code", directive.line, "#if 0: remove it, git remembers")
    for comment in file.cpp.comments:
        for offset, line in enumerate(comment.text.splitlines()):
            text = re.sub(r"^\s*(?://+|/\*+|\*+)", "", line).strip()
            if not line.lstrip().startswith("///") and CODE_IN_COMMENT.match(text):
                yield file.finding("dead-code", comment.line + offset, f"commented-out code: {text}")


def postponed(file: SourceFile) -> Iterator[Finding]:
    comments = [(c.line, c.text) for c in file.cpp.comments] if file.cpp else [
        (number, line) for number, line in enumerate(file.text.splitlines(), 1) if "#" in line
    ]
    for line, text in comments:
        found = POSTPONED.search(text if file.cpp else text[text.index("#"):])
        if found:
            yield file.finding("postponed", line, f"'{found[0]}': do it, or file it")


RULES = (
    file_length, file_name, function_length, nesting, parameters, assembly, prints, environment,
    pragma_once, public_includes, exported_block, include_direction, backend_switch, dead_code,
    postponed,
)
