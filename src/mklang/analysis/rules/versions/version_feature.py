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
from mklang.lang.versions import too_new


def find(subject: Subject) -> Iterator[Finding]:
    """Every feature in use that came after the declared version."""
    for feature in too_new(subject.machine):
        message = f"'{feature.name}' came with {feature.since}, and the document declares {subject.machine.version}"
        yield Finding(Spot(feature.where, feature.at.name), message, f'declare mklang: "{feature.since}"')


RULE = Rule(code="version-feature", severity=Severity.WARNING, find=find, basis="L14", page=__doc__)
