"""One step of a run: which state, what came out, which gate fired, how that was decided, and what it cost (L70)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from mklang.engine.digests import content_hash
from mklang.engine.guarding import Check
from mklang.engine.requests import NO_USAGE, Attempt, Usage
from mklang.lang.models import Tier

SubTrace: TypeAlias = "tuple[TraceStep, ...] | tuple[tuple[TraceStep, ...] | None, ...]"


class BranchFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why one branch of a fan-out has no value: ``kind`` is the reason a run would have halted with."""

    index: int
    kind: str
    message: str


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question to a judge and what came of it. ``gates`` are the gates' positions in the state, in order.

    ``chosen`` is the position of the gate the verdict fired, None for none. ``none`` says how none was found:
    ``asked`` when the judge gave it a probability that reached the threshold, ``default`` when nothing did.
    """

    gates: tuple[int, ...]
    model: str
    mapping: str
    chosen: int | None = None
    provider: str = ""
    threshold: float | None = None
    band: float = 0.0
    probabilities: tuple[float, ...] | None = None
    none_probability: float | None = None
    none: str | None = None
    confidence: float | None = None
    uncertain: bool = False
    contradiction: bool = False
    fence_applied: bool | None = None
    read: str = "clean"
    usage: Usage = NO_USAGE
    seconds: float = 0.0


class TraceStep(msgspec.Struct, kw_only=True, gc=False):
    """One executed state. Absent facts are None, False or empty and do not appear in the wire form (L71)."""

    state: str
    tier: Tier
    step: int
    gate: str | None = None
    policy: str = ""
    to: str | None = None
    output: str | None = None
    branches: list[str] | None = None
    branch_errors: tuple[BranchFailure, ...] = ()
    reasoning: str | None = None
    reasonings: list[str | None] | None = None
    sub_trace: SubTrace | None = None
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    model: str | None = None
    attempts: tuple[Attempt, ...] = ()
    truncated: bool = False
    finish_reason: str | None = None
    gate_via: str | None = None
    hook: str | None = None
    judge_model: str | None = None
    judge_none: int = 0
    judge_fallback: bool = False
    judge_raw: str | None = None
    judge_parse: str | None = None
    judge_forced_choice: bool = False
    judgements: tuple[Judgement, ...] = ()
    decision_tainted: bool = False
    untrusted_control_flow: bool = False
    hook_unconfirmed: bool = False
    tainted_arguments: tuple[str, ...] | None = None
    guards: tuple[Check, ...] = ()
    reply: str | None = None
    error: str | None = None

    def to_wire(self, *, hashes: bool = False) -> dict[str, object]:
        """The JSON form, keys in the published order (L70, L71); with ``hashes`` also that of the output."""
        wire: dict[str, object] = {"state": self.state, "tier": self.tier.value, **_present(self, _EXECUTION)}
        if hashes and self.output is not None:
            wire["output_hash"] = content_hash(self.output)
        if self.sub_trace is not None:
            wire["sub_trace"] = _sub_trace(self.sub_trace, hashes=hashes)
        if self.branch_errors:
            wire["branch_errors"] = [msgspec.to_builtins(failure) for failure in self.branch_errors]
        if self.attempts:
            wire["attempts"] = [msgspec.to_builtins(attempt) for attempt in self.attempts]
        wire |= _spent(self)
        wire |= _present(self, _DECISION)
        wire |= _judged(self.judgements)
        if self.guards:
            wire["guards"] = [msgspec.to_builtins(check) for check in self.guards]
        wire |= {"step": self.step, "gate": self.gate, "policy": self.policy, "to": self.to}
        if self.error is not None:
            wire["error"] = self.error
        return wire


_EXECUTION = ("output", "branches", "reasoning", "reasonings", "model", "truncated", "finish_reason")
_DECISION = (
    "gate_via",
    "hook",
    "judge_model",
    "judge_none",
    "judge_fallback",
    "judge_raw",
    "judge_parse",
    "judge_forced_choice",
    "decision_tainted",
    "untrusted_control_flow",
    "hook_unconfirmed",
    "tainted_arguments",
    "reply",
)


def _present(step: TraceStep, names: tuple[str, ...]) -> dict[str, object]:
    """The named facts that are there; a tuple as the list JSON knows."""
    wire: dict[str, object] = {}
    for name in names:
        value = getattr(step, name)
        if value is not None and value is not False and value != 0:
            wire[name] = list(value) if isinstance(value, tuple) else value
    return wire


def _judged(judgements: tuple[Judgement, ...]) -> dict[str, object]:
    """What a probability judge said, under the published names; all judgements where one does not tell the story."""
    wire: dict[str, object] = {}
    last = judgements[-1] if judgements else None
    if last is not None and last.probabilities is not None:
        wire["judge_mapping"] = last.mapping
        wire["noul_probs"] = list(last.probabilities)
        wire["jev_threshold"] = last.threshold
        if last.fence_applied is not None:
            wire["fence_applied"] = last.fence_applied
    if judgements:
        wire["judgements"] = [judgement_wire(judgement) for judgement in judgements]
    return wire


def judgement_wire(judgement: Judgement) -> dict[str, object]:
    """A judgement's JSON form: what it does not say has no key."""
    wire: dict[str, object] = msgspec.to_builtins(judgement)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in wire.items()
        if name not in _UNSAID or value not in (0, {})
    }


_UNSAID = frozenset({"band", "seconds", "usage"})
"""Numbers of a judgement that are no news when they are nothing."""


def _spent(step: TraceStep) -> dict[str, object]:
    """Tokens, money and time, each only where there was any."""
    usage = step.usage
    wire: dict[str, object] = {}
    if usage.total:
        wire["cost"] = usage.to_wire()
    if usage.nano_usd:
        wire["usd"] = usage.nano_usd / 1e9
    if step.seconds:
        wire["seconds"] = round(step.seconds, 3)
    return wire


def _sub_trace(trace: SubTrace, *, hashes: bool) -> list[object]:
    """A callee's steps, or one list per branch with null for a branch that has none."""
    wire: list[object] = []
    for part in trace:
        if isinstance(part, TraceStep):
            wire.append(part.to_wire(hashes=hashes))
        else:
            wire.append(None if part is None else [step.to_wire(hashes=hashes) for step in part])
    return wire
