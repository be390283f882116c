"""C++ text with comments, literals and preprocessor lines told apart; line numbers kept."""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r'(?P<line>//(?:[^\n\\]|\\.|\\\n)*)'
    r"|(?P<block>/\*.*?\*/)"
    r'|(?P<raw>R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Comment:
    line: int
    text: str


@dataclass(frozen=True)
class Directive:
    line: int
    text: str


@dataclass(frozen=True)
class CppText:
    """`code` has blanks where comments, literal contents and directives were, newlines kept."""

    code: str
    comments: list[Comment]
    directives: list[Directive]


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def split_cpp(text: str) -> CppText:
    comments: list[Comment] = []

    def without_comments(match: re.Match) -> str:
        if match["line"] is None and match["block"] is None:
            return match[0]
        comments.append(Comment(line_of(text, match.start()), match[0]))
        return blank(match[0])

    def without_literals(match: re.Match) -> str:
        quote = "'" if match["char"] else '"'
        return quote + blank(match[0][1:-1]) + quote

    bare = TOKEN.sub(without_comments, text)
    directives = [Directive(line_of(bare, m.start()), m[0].strip()) for m in DIRECTIVE.finditer(bare)]
    code = DIRECTIVE.sub(lambda m: blank(m[0]), bare)
    return CppText(TOKEN.sub(without_literals, code), comments, directives)
