"""The document uses features of a later version and declares none.

One note for the machine, at the first use of the newest feature.

Why: who reads the document cannot tell which versions of mklang understand it. The run is not affected (L3, W52).

Fires:
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

Fix: safe. Declare the version that brought the newest feature; the version changes nothing about a run.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.versions import UNDERSTOOD, features
from mklang.source import Edit, Fix, Span


def find(subject: Subject) -> Iterator[Finding]:
    """The newest feature in use, when no version is declared."""
    if subject.machine.version:
        return
    used = features(subject.machine)
    if used:
        newest = max(used, key=lambda feature: UNDERSTOOD.index(feature.since))
        message = f"'{newest.name}' came with {newest.since}, and the document declares no version"
        spot = Spot(newest.where, newest.at.name)
        yield Finding(spot, message, _hint(newest.since), fix=_fix(subject, newest.since))


def _fix(subject: Subject, version: str) -> Fix | None:
    """A first line, for a document that is written by indentation."""
    span = subject.machine.at.span
    if span is None or subject.source is None or subject.machine.at.raw("mklang") is not None:
        return None
    if subject.source.line(span.line)[span.column - 1 : span.column] == "{":
        return None
    start = Span(span.line, span.column, span.line, span.column)
    return Fix(_hint(version), Edit(start, f'mklang: "{version}"\n'))


def _hint(version: str) -> str:
    return f'begin the document with mklang: "{version}"'


RULE = Rule(code="version-missing", severity=Severity.NOTE, find=find, basis="L3 L14", page=__doc__)
