"""Finds function bodies by counting braces: name, lines, nesting of control flow, parameters."""

import re
from dataclasses import dataclass

from cpp_text import line_of

CONTROL = re.compile(r"\b(?:else\s+if|if|else|for|while|switch|do|try|catch)\b")
TYPE_HEAD = re.compile(r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b", re.DOTALL)
LAMBDA_HEAD = re.compile(r"\[[^\[\]]*\]\s*(?:<[^{}]*>\s*)?(?:\(.*\))?[^()=;]*$", re.DOTALL)
NOT_A_NAME = {"__attribute__", "__launch_bounds__", "alignas", "decltype", "requires", "noexcept",
              "explicit", "__cluster_dims__", "__maxnreg__"}
INITIALISER_END = re.compile(r"\)\s*(?:noexcept\s*)?:[^:].*[\w>]\s*$", re.DOTALL)


@dataclass(frozen=True)
class Function:
    name: str
    line: int
    length: int
    nesting: int
    parameters: int


@dataclass
class Block:
    kind: str  # namespace, type, function, control, initialiser or plain
    header: str
    offset: int
    depth: int = 0  # control blocks around what is inside
    deepest: int = 0


def closing(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "(") - (text[i] in ")")
        if depth == 0:
            return i
    return len(text) - 1


def parameter_group(header: str) -> tuple[str, str] | None:
    """The function's name and the text between the parentheses of its parameters."""
    position = 0
    while (found := re.compile(r"([\w~]+|operator\s*\S+?|\]|operator\s*\(\s*\))\s*\(").search(header, position)):
        name = re.sub(r"\s", "", found[1])
        begin = found.end() - 1
        end = closing(header, begin)
        if name == "operator":
            begin = header.find("(", end + 1)
            return ("operator()", header[begin + 1 : closing(header, begin)]) if begin > 0 else None
        if name not in NOT_A_NAME:
            return name, header[begin + 1 : end]
        position = end
    return None


def count_parameters(group: str) -> int:
    depth = 0
    commas = 0
    for character in group.replace("->", "  ").replace("<=", "  ").replace(">=", "  "):
        depth += (character in "([{<") - (character in ")]}>")
        commas += character == "," and depth == 0
    return 0 if group.strip() in ("", "void") else commas + 1


def classify(header: str, outer: Block) -> str:
    text = header.strip()
    if outer.kind in ("namespace", "type"):
        if re.search(r"\bnamespace\b", text) or text.startswith("extern") and "(" not in text:
            return "namespace"
        if TYPE_HEAD.match(text):
            return "type"
        if INITIALISER_END.search(text):
            return "initialiser"
        is_lambda = "[" in text and LAMBDA_HEAD.search(text)
        if "(" in text and (is_lambda or not re.search(r"=\s*(?:\w[\w:<>]*\s*(?:\(.*\))?)?$", text)):
            return "function"
        return "initialiser"
    if TYPE_HEAD.match(text):
        return "type"
    if CONTROL.match(text):
        return "control"
    return "plain"


def find_functions(code: str) -> list[Function]:
    functions: list[Function] = []
    stack = [Block("namespace", "", 0)]
    header_begin = 0
    parens = 0
    for i, character in enumerate(code):
        if character in "()":
            parens += 1 if character == "(" else -1
        elif character == ";" and parens <= 0:
            header_begin = i + 1
        elif character == "{":
            stack.append(opened(code[header_begin:i], i, stack[-1], parens))
            if stack[-1].kind != "initialiser":
                header_begin, parens = i + 1, 0
        elif character == "}" and len(stack) > 1:
            block = stack.pop()
            if block.kind == "function":
                functions.append(measured(block, code, i))
            if block.kind != "initialiser":
                header_begin, parens = i + 1, block_parens(block)
            stack[-1].deepest = max(stack[-1].deepest, block.deepest)
    return functions


def opened(header: str, offset: int, outer: Block, parens: int) -> Block:
    kind = classify(header, outer)
    if kind == "function" and parens > 0 and not LAMBDA_HEAD.search(header):
        kind = "initialiser"  # a braced default argument
    block = Block(kind, f"{parens}|{header}", offset)
    if kind not in ("function", "type", "namespace"):
        block.depth = outer.depth + (levels(header) if kind == "control" else 0)
        block.deepest = block.depth
    return block


def levels(header: str) -> int:
    """Control statements without braces in front of a block. A chain of plain loops walks one product: one level."""
    chain = re.sub(r"(?:\bfor\b\s*)+", "for ", without_parens(header))
    return len(CONTROL.findall(chain))


def block_parens(block: Block) -> int:
    """Parentheses still open where the block began: a lambda passed as an argument."""
    return int(block.header.partition("|")[0])


def without_parens(header: str) -> str:
    while (shorter := re.sub(r"\([^()]*\)", "", header)) != header:
        header = shorter
    return header


def measured(block: Block, code: str, end: int) -> Function:
    header = block.header.partition("|")[2]
    found = parameter_group(header)
    name, group = found if found else ("lambda", "")
    begin_line = line_of(code, block.offset)
    return Function(
        name="lambda" if name == "]" else name,
        line=begin_line,
        length=line_of(code, end) - begin_line + 1,
        nesting=block.deepest,
        parameters=count_parameters(group),
    )
