"""What a pipeline can say about itself, so that a review reads it instead of guessing (S45)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Conformance:
    """One pattern in use: its name, the facts a review asks for, and the parts it is made of."""

    pattern: str
    name: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[Conformance, ...] = ()

    def __str__(self) -> str:
        """Readable text, parts indented."""
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> list[str]:
        lines = [f"{indent}{self.pattern} '{self.name}'"]
        lines += [f"{indent}  {label}: {value}" for label, value in self.facts]
        for part in self.parts:
            lines += part._lines(indent + "  ")
        return lines

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "pattern": self.pattern,
            "name": self.name,
            "facts": dict(self.facts),
            "parts": [part.to_wire() for part in self.parts],
        }
