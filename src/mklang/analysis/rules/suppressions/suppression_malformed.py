"""A comment to mklang says nothing that is understood.

Two forms are: ``# mklang: ignore[code] why`` for the line it stands on or the next one, and
``# mklang: ignore-file[code] why`` for the whole document. Several codes are separated by commas; the name of a family
of codes stands for all of them.

Why: the finding that the comment was meant for is still reported, or, worse, nobody notices that it never was (L16).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        # mklang: ignored
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Only the author knows which finding was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Every comment that begins with ``mklang:`` and is none of the forms."""
    for suppression in subject.suppressions:
        if not suppression.well_formed:
            message = "this comment to mklang is not understood"
            yield Finding(Spot("", suppression.comment.span), message, "write: # mklang: ignore[code] why")


RULE = Rule(code="suppression-malformed", severity=Severity.WARNING, find=find, basis="L16", page=__doc__, strict=True)
