"""A state asks for a tier that the host has no model for.

``check`` and ``lint`` do not look at the host's configuration and cannot tell.

Why: the first state of that tier halts the run with ``state-error`` (L12, E7; L46).

Fires:
    # the host has a model for fast and for balanced
    states:
      write:
        tier: reasoning
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    # the host has a model for fast and for balanced
    states:
      write:
        tier: balanced
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Configure a model for the tier, or ask for another tier.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot, in_machine, in_state, name_of
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Generative, Machine, Prose, State, Tier


def find(subject: Subject) -> Iterator[Finding]:
    """Each missing tier once, at the first state that needs it."""
    if subject.tiers is None:
        return
    needed: dict[Tier, State] = {}
    for state in subject.graph.states:
        if isinstance(state, Generative) or any(isinstance(gate.condition, Prose) for gate in state.gates):
            needed.setdefault(state.tier or subject.machine.default_tier, state)
    has = ", ".join(sorted(tier.value for tier in subject.tiers)) or "none"
    for tier, state in needed.items():
        if tier not in subject.tiers:
            message = f"no model is configured for the tier '{tier.value}'"
            hint = f"configured: {has}; add a model for it, or ask for another tier"
            yield Finding(_spot(subject.machine, state), message, hint)


def _spot(machine: Machine, state: State) -> Spot:
    if state.tier is not None:
        return in_state(state, "tier")
    return in_machine(machine, "default_tier") if machine.at.raw("default_tier") else name_of(state)


RULE = Rule(code="tier-missing", severity=Severity.ERROR, find=find, basis="L12 E7", page=__doc__)
