"""A comment silences a code that is not found there.

What it was written for has been repaired or has moved; or the code is an error, and errors cannot be silenced.

Why: it would silence the next finding of this kind, which nobody has looked at yet (L16).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        # mklang: ignore[output-unread] the host reads it
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: safe. Delete the code from the comment, or the whole comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.codes import FAMILIES, FAMILY_OF
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.analysis.suppress import Suppression
from mklang.diagnostics import Severity
from mklang.source import Edit, Fix


def find(subject: Subject) -> Iterator[Finding]:
    """Every known code in a comment that silenced nothing."""
    for suppression, listed in subject.unused:
        if listed.code in FAMILY_OF or listed.code in FAMILIES:
            place = "in this document" if suppression.lines is None else "on the line it is about"
            message = f"nothing is found as '{listed.code}' {place}"
            yield Finding(Spot("", listed.span), message, "delete it", fix=_fix(suppression, subject))


def _fix(suppression: Suppression, subject: Subject) -> Fix:
    """Take every code out of the comment that silenced nothing; without any left, the comment goes."""
    comment = suppression.comment
    unused = {listed.code for of, listed in subject.unused if of is suppression}
    kept = [listed.code for listed in suppression.codes if listed.code not in unused]
    if kept:
        head, _, tail = comment.text.partition("[")
        text = f"{head}[{', '.join(kept)}]{tail.partition(']')[2]}"
        return Fix("delete the codes that are not found", Edit(comment.span, text))
    return Fix("delete the comment", Edit(comment.span, "", whole_lines=comment.alone))


RULE = Rule(code="suppression-unused", severity=Severity.WARNING, find=find, basis="L16", page=__doc__, strict=True)
