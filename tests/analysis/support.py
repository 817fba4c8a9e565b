"""Documents for tests of the analysis: whole ones, fragments that lack what does not matter, the corpus of cases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from mklang.analysis.registry import Rule, every
from mklang.analysis.runner import Analyser
from mklang.diagnostics import Diagnostic
from mklang.lang.models import Machine, Tier
from mklang.lang.reader import machine_from_text
from mklang.source import Source

CASES = Path(__file__).parent / "cases"
TIERS = (Tier.FAST, Tier.BALANCED)
"""What the host of every test has models for."""

_EXPECTED = re.compile(r"^#> (\d+):(\d+) (\S+)(?: (error|warning|note)(?= ))? (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A document to look at and the machines it can call."""

    source: Source
    machine: Machine
    library: dict[str, Machine]

    def lint(self, *, strict: bool = False) -> tuple[Diagnostic, ...]:
        """Everything the rules find."""
        return Analyser(self.library, strict=strict, tiers=TIERS).lint(self.machine, self.source)

    def codes(self) -> list[str]:
        """The codes of everything the rules find."""
        return [found.code for found in self.lint()]


@dataclass(frozen=True)
class Case:
    """A file of the corpus. ``expected``: everything the rules find in it, and no more."""

    rule: str
    name: str
    text: str

    @property
    def expected(self) -> list[tuple[str, ...]]:
        """Line, column, code, severity if it is not the rule's own, and the text that stands there."""
        return [match.groups(default="") for match in _EXPECTED.finditer(self.text)]

    @property
    def strict(self) -> bool:
        """Whether the document is linted with ``--strict``."""
        return "\n#! strict\n" in self.text


def example(text: str, name: str = "example.mkl") -> Example:
    """A document; what follows a line ``---`` are the documents it can call. Missing top-level keys are added."""
    first, *others = re.split(r"^---\n", text, flags=re.MULTILINE)
    machines = [machine_from_text(complete(other), f"callee{number}.mkl") for number, other in enumerate(others)]
    source = Source(name, complete(first))
    return Example(source, machine_from_text(source.text, name), {machine.name: machine for machine in machines})


def complete(fragment: str) -> str:
    """The document with a name, an entry and a budget put at its end, where it has none."""
    document = yaml.safe_load(fragment)
    missing = {"machine": "example", "entry": next(iter(document["states"])), "budget": 10}
    added = [f"{key}: {value}\n" for key, value in missing.items() if key not in document]
    return fragment.rstrip("\n") + "\n" + "".join(added)


def cases() -> Iterator[Case]:
    """The corpus: for each rule a folder with documents that fire and documents that stay silent."""
    for path in sorted(CASES.glob("*/*.yaml")):
        yield Case(path.parent.name, path.stem, path.read_text("utf-8"))


def rules() -> tuple[Rule, ...]:
    """Every rule."""
    return every()


def severities() -> dict[str, str]:
    """The severity of every rule by code."""
    return {rule.code: rule.severity.value for rule in rules()}


def observed(found: Diagnostic, source: Source) -> tuple[str, ...]:
    """A diagnostic in the form in which the corpus writes them down."""
    span = found.span
    assert span is not None, found
    line = source.line(span.line)
    stop = span.end_column - 1 if span.end_line == span.line else len(line)
    severity = "" if found.severity.value == severities()[found.code] else found.severity.value
    return str(span.line), str(span.column), found.code, severity, line[span.column - 1 : stop]
