"""The exceptions of the package: one base, and a class per kind that is also the built-in's."""


class Error(Exception):
    """A mistake that the library names: what is wrong, where, what was expected, what came, what to do."""

    code = "invalid_argument"

    def __init__(self, what: str, where: str = "", expected: str = "", got: str = "", hint: str = ""):
        self.what = what
        self.where = where
        self.expected = expected
        self.got = got
        self.hint = hint
        super().__init__(what, where, expected, got, hint)

    def __str__(self) -> str:
        lines = [self.what]
        for label in ("where", "expected", "got", "hint"):
            text = getattr(self, label)
            if text:
                lines.append(f"  {label}: {text}")
        return "\n".join(lines)


class InvalidArgumentError(Error, ValueError):
    """A shape, dtype, stride, name or value that the call cannot mean."""

    code = "invalid_argument"


class UnsupportedError(Error, NotImplementedError):
    """Meaningful, but no kernel here serves it."""

    code = "unsupported"


class IndexOutOfRangeError(Error, IndexError):
    """A live subscript outside its captured tensor."""

    code = "index_out_of_range"


class DivisionByZeroError(Error, ZeroDivisionError):
    """A live integer division by zero."""

    code = "division_by_zero"


class ParseError(Error, ValueError):
    """A text program or a file that cannot be read."""

    code = "parse"


class TraceError(Error, TypeError):
    """A construct that a mod may not contain; `where` is its file and line."""

    code = "trace"


class CompileForbiddenError(Error, RuntimeError):
    """The compile policy forbids what the call would need."""

    code = "compile_forbidden"


class FileError(Error, OSError):
    """The operating system refused a file or a library."""

    code = "io"


class InternalError(Error, RuntimeError):
    """A broken invariant of the library itself."""

    code = "internal"


_CLASSES = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        UnsupportedError,
        IndexOutOfRangeError,
        DivisionByZeroError,
        ParseError,
        TraceError,
        CompileForbiddenError,
        FileError,
        InternalError,
    )
}


def make(code: str, what: str, where: str, expected: str, got: str, hint: str) -> Error:
    """The exception of an error code of the library; the compiled half calls this."""
    return _CLASSES.get(code, Error)(what, where, expected, got, hint)
