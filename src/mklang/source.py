"""Where text came from, and where in it a thing stands. Everything that reports a problem speaks in these terms."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a document: 1-based lines and columns (in characters), the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a text: what stands at ``span`` becomes ``text``.

    ``whole_lines`` takes the lines themselves away, or a map in a list in brackets with its comma; it is no change at
    all where something else stands on them.
    """

    span: Span
    text: str
    whole_lines: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair that is safe to make without asking: it never changes what a run does. ``what`` says what is done."""

    what: str
    edit: Edit


@dataclass(frozen=True, slots=True)
class Source:
    """A document's text and the name a person knows it by (a path as typed, or a label such as ``<text>``)."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """The 1-based line without its line ending; empty when the document has no such line."""
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""
