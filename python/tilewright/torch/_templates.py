"""Programs as text, which is how they travel through the dispatcher, and back."""

from __future__ import annotations

import threading
from typing import Any

from .. import _core

# First line of texts whose captures and numbers are called c0, i0, r0, ... in the order of the op's
# lists; in other texts the lists are in the order of the program's own slots.
BY_NAME = "# operands by name"


def one_line(text: str) -> str:
    """As an op's argument: compilers write arguments into comments of what they generate."""
    return text.replace("\n", "\\n")


def lines_of(text: str) -> str:
    return text.replace("\\n", "\n")


class Template:
    """A parsed program and which operand goes to which of its slots."""

    def __init__(self, program: _core.Program, by_name: bool):
        self.program = program
        names, named = program.capture_slots, set(program.number_names)
        # Operand of each number; None where the text says the number.
        self.numbers: list[int | None]
        self.captures = [int(name[1:]) for name in names] if by_name else list(range(len(names)))
        self.values = program.number_values
        self.is_real = [isinstance(value, float) for value in self.values]
        if by_name:
            self.numbers = [int(name[1:]) if name in named else None for name in program.number_slots]
        else:
            self.numbers = []
            counts = {True: 0, False: 0}
            for real in self.is_real:
                self.numbers.append(counts[real])
                counts[real] += 1

    def bound(self, captures: list[Any], integers: list[int], reals: list[float]) -> Any:
        numbers = [
            value if i is None else (reals if real else integers)[i]
            for value, real, i in zip(self.values, self.is_real, self.numbers)
        ]
        return self.program.rebound([captures[i] for i in self.captures], numbers)


_templates: dict[str, Template] = {}
_texts: dict[tuple[Any, ...], str] = {}
_lock = threading.Lock()
_MOST_TEMPLATES = 4096


def template_of(text: str) -> Template:
    found = _templates.get(text)
    if found is None:
        found = Template(_core.Program.parse(lines_of(text)), text.startswith(BY_NAME))
        with _lock:
            if len(_templates) >= _MOST_TEMPLATES:
                _templates.clear()
            _templates[text] = found
    return found


def text_of(program: _core.Program) -> str:
    """The text that stands for this structure; equal structures with equal names share it."""
    key = (program.structure_digest, *program.capture_slots)
    text = _texts.get(key)
    if text is None:
        text = one_line(program.template_text())
        with _lock:
            if len(_texts) >= _MOST_TEMPLATES:
                _texts.clear()
            _texts[key] = text
    return text
