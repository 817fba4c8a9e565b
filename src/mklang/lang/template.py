"""The placeholder grammar ``{{path}}``: the one place that knows it (L23, L24).

A placeholder is ``{{``, optional white space, a path of word characters and dots, optional white space, ``}}``.
Anything else is text. There is no escape, and substitution is single-pass: braces inside a value stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_PLACEHOLDER = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A reference to the blackboard. ``path`` is the dotted path as written, ``keys`` its segments, never empty."""

    path: str
    keys: tuple[str, ...]
    start: int
    end: int

    @property
    def root(self) -> str:
        """The top-level context key the placeholder reads."""
        return self.keys[0]


@dataclass(frozen=True, slots=True)
class Template:
    """Text with placeholders, parsed once. ``parts`` alternates literal text and placeholders in order."""

    text: str
    parts: tuple[str | Placeholder, ...]

    @property
    def placeholders(self) -> Iterator[Placeholder]:
        """The placeholders in the order written, repeats included."""
        return (part for part in self.parts if isinstance(part, Placeholder))

    @property
    def sole(self) -> Placeholder | None:
        """The placeholder that is the whole text apart from outer white space, if that is so (L28)."""
        inner = [part for part in self.parts if not (isinstance(part, str) and not part.strip())]
        return inner[0] if len(inner) == 1 and isinstance(inner[0], Placeholder) else None


@lru_cache(maxsize=4096)
def parse_template(text: str) -> Template:
    """Split text at its placeholders. Never fails: what is not a placeholder is text."""
    parts: list[str | Placeholder] = []
    position = 0
    for match in _PLACEHOLDER.finditer(text):
        if match.start() > position:
            parts.append(text[position : match.start()])
        path = match.group(1)
        parts.append(Placeholder(path, tuple(path.split(".")), match.start(), match.end()))
        position = match.end()
    if position < len(text) or not parts:
        parts.append(text[position:])
    return Template(text, tuple(parts))
