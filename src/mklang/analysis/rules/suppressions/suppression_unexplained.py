"""A comment silences a finding and does not say why.

Why: whoever reads the machine next cannot tell a considered exception from a silenced alarm (L16).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        # mklang: ignore[otherwise-missing]
        gates:
          - { when: the line is friendly, then: ok, to: END }

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        # mklang: ignore[otherwise-missing] an unfriendly line must stop the run
        gates:
          - { when: the line is friendly, then: ok, to: END }

Fix: unsafe. Only the author knows the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Every comment without a reason behind its codes."""
    for suppression in subject.suppressions:
        if suppression.well_formed and not suppression.reason:
            yield Finding(Spot("", suppression.comment.span), "this comment gives no reason", "say why behind the ']'")


RULE = Rule(
    code="suppression-unexplained", severity=Severity.WARNING, find=find, basis="L16", page=__doc__, strict=True
)
