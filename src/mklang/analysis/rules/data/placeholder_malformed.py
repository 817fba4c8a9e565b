"""Braces that look like a placeholder and are none.

A placeholder is two braces, a path of words and dots, two braces. ``{{ user-name }}``, ``{{items[0]}}``,
``{{a|upper}}``, ``{{name}`` and, for a key that exists, ``{name}`` stay in the text as they are; ``{{a..b}}`` leads
nowhere.

Why: the model reads the braces instead of the value (L23, L24).

Fires:
    context: { name: "" }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{name|title}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { name: "" }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. What was meant is the author's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mklang.analysis.dataflow import templates_of
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import at_part
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.template import Template

_TWO = re.compile(r"\{\{\s*(?:[\w.][^{}\"'\n]*)?\}\}?")
_ONE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def find(subject: Subject) -> Iterator[Finding]:
    """Every such piece of a text that is filled in, the same piece once per text."""
    provided = subject.data.provided
    for state in subject.data.states:
        for face, template in templates_of(state):
            if "{" not in template.text:
                continue
            for piece, pattern in dict(_pieces(template, provided)).items():
                spot = at_part(subject.source, state, face, pattern)
                yield Finding(spot, f"'{piece}' is no placeholder and stays as it is", "write {{key}} or {{key.key}}")


def _pieces(template: Template, provided: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each piece, and a pattern that finds it in the document."""
    for part in template.parts:
        if not isinstance(part, str):
            if not all(part.keys):
                piece = template.text[part.start : part.end]
                yield piece, re.escape(piece)
            continue
        for match in _TWO.finditer(part):
            yield match.group(), re.escape(match.group())
        for match in _ONE.finditer(part):
            if match.group(1) in provided:
                yield match.group(), r"(?<!\{)" + re.escape(match.group()) + r"(?!\})"


RULE = Rule(
    code="placeholder-malformed", severity=Severity.WARNING, find=find, basis="L23 L24", page=__doc__, strict=True
)
