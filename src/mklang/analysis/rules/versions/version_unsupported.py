"""The document declares a language version that is not understood.

Understood are 0.2, 0.3 and 0.4, each with or without a trailing ``.0``. Under ``check --strict`` this is an error.

Why: the machine may use something that this version of mklang reads differently or not at all (L3; L12, E6; L13, C5).

Fires:
    mklang: "0.5"
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    mklang: "0.4"
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Declare a version that is understood, or install a newer mklang.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.versions import UNDERSTOOD, understood


def find(subject: Subject) -> Iterator[Finding]:
    """The version, when it is none of those understood."""
    version = subject.machine.version
    if version and understood(version) is None:
        severity = Severity.ERROR if subject.strict else None
        message = f"the language version '{version}' is not understood"
        yield Finding(in_machine(subject.machine, "mklang"), message, f"understood: {', '.join(UNDERSTOOD)}", severity)


RULE = Rule(code="version-unsupported", severity=Severity.WARNING, find=find, basis="L3, L12 E6, L13 C5", page=__doc__)
