"""A comparison hook is not written as its form wants, such as ``eq:PATH:VALUE`` or ``le:PATH:NUMBER``.

A name that the ``hooks`` block lists is the host's own and exempt.

Why: a name of another form is an unknown hook and halts the run with ``state-error``, and so does a number that is
none, a regular expression or a JSON Schema that cannot be read (L59). Expressions run in linear time: look-around and
back-references do not exist.

Fires:
    context: { status: "" }
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: it is paid, "hook": "eq:status", then: ok, to: END }
          - { when: otherwise, fail: true }

Repaired:
    context: { status: "" }
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: it is paid, "hook": "eq:status:paid", then: ok, to: END }
          - { when: otherwise, fail: true }

Fix: unsafe. What to compare is the author's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.comparisons import (
    FORMS,
    Malformed,
    PatternProblem,
    Relation,
    read_comparison,
    validator_of,
)
from mklang.lang.models import HookCondition

_COMPILED = frozenset({Relation.MATCHES, Relation.SCHEMA})


def find(subject: Subject) -> Iterator[Finding]:
    """Every comparison that is not of its form, or whose expression or schema cannot be used."""
    declared = {declaration.name for declaration in subject.machine.hooks}
    for state in subject.graph.states:
        for gate in state.gates:
            condition = gate.condition
            if not isinstance(condition, HookCondition) or condition.name in declared:
                continue
            problem = _problem(condition.name)
            if problem is not None:
                message = f"'{condition.name}' is no comparison: {problem.why}"
                yield Finding(in_gate(state, gate, "hook"), message, f"write {problem.form}")


def _problem(name: str) -> Malformed | None:
    compared = read_comparison(name)
    if compared is None or isinstance(compared, Malformed):
        return compared
    if compared.relation in _COMPILED:
        try:
            validator_of(compared.relation, compared.argument)
        except PatternProblem as problem:
            return Malformed(str(problem), FORMS[compared.relation])
    return None


RULE = Rule(code="hook-malformed", severity=Severity.WARNING, find=find, basis="L59", page=__doc__)
