"""The document uses a feature that is newer than the version it declares.

Each feature is reported once, where it is used first. A document that declares no version is exempt.

Why: the declared version tells other readers and other implementations what they must understand. The run is not
affected (L3, L14).

Fires:
    mklang: "0.2"
    states:
      plan:
        parse: list
        structure: A JSON list.
        prompt: Name three topics.
        output: topics
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    mklang: "0.3"
    states:
      plan:
        parse: list
        structure: A JSON list.
        prompt: Name three topics.
        output: topics
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: safe. Declare the version that brought the feature; the version changes nothing about a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Machine
from mklang.lang.versions import UNDERSTOOD, too_new
from mklang.source import Edit, Fix


def find(subject: Subject) -> Iterator[Finding]:
    """Every feature in use that came after the declared version."""
    for feature in too_new(subject.machine):
        message = f"'{feature.name}' came with {feature.since}, and the document declares {subject.machine.version}"
        hint = f'declare mklang: "{feature.since}"'
        yield Finding(Spot(feature.where, feature.at.name), message, hint, fix=_fix(subject.machine))


def _fix(machine: Machine) -> Fix | None:
    """Declare the newest version that something in the document needs."""
    span = machine.at.value("mklang")
    newest = max((feature.since for feature in too_new(machine)), key=UNDERSTOOD.index)
    return Fix(f'declare mklang: "{newest}"', Edit(span, f'"{newest}"')) if span else None


RULE = Rule(code="version-feature", severity=Severity.WARNING, find=find, basis="L14", page=__doc__)
