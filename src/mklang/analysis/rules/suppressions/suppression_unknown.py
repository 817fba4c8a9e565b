"""A comment names a code that does not exist.

Why: it silences nothing, and the finding it was meant for is still reported (L16).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        # mklang: ignore[output-unraed] the host reads it
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest code; only the author knows which one was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mklang.analysis.codes import FAMILIES, FAMILY_OF
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.findings import shorten

_AUDITS = re.compile(r"AK[0-9]{3}")
"""Codes of ``mklang audit``, which reads such comments itself."""


def find(subject: Subject) -> Iterator[Finding]:
    """Every code in a comment that is neither a rule's nor a family's."""
    names = Names((*FAMILY_OF, *sorted(FAMILIES)))
    for suppression in subject.suppressions:
        for listed in suppression.codes:
            known = listed.code in FAMILY_OF or listed.code in FAMILIES or _AUDITS.fullmatch(listed.code)
            if not known:
                hint = names.hint(listed.code, "'mklang explain' lists the codes")
                yield Finding(Spot("", listed.span), f"there is no code '{shorten(listed.code)}'", hint)


RULE = Rule(code="suppression-unknown", severity=Severity.WARNING, find=find, basis="L16", page=__doc__, strict=True)
