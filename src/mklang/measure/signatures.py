"""What a decision comes down to: ``state|gate|gate_via|to``, for the lint and for gate divergence alike (S4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mklang.engine.trace import TraceStep

BETWEEN = " || "


def signature_of(step: TraceStep) -> str:
    """One step as ``state|gate|gate_via|to``; what a step does not have is empty."""
    return "|".join(one or "" for one in (step.state, step.gate, step.gate_via, step.to))


def signature(trace: Iterable[TraceStep]) -> str:
    """A whole run's steps, in order."""
    return BETWEEN.join(signature_of(step) for step in trace)


def route_of(trace: Iterable[TraceStep]) -> str:
    """A run's way alone: ``state>to`` for each step."""
    return BETWEEN.join(f"{step.state}>{step.to or step.policy}" for step in trace)


def gates_of(trace: Sequence[TraceStep]) -> list[dict[str, object]]:
    """The decisions of a run as a row of the divergence harness keeps them."""
    return [
        {
            "state": step.state,
            "gate": step.gate,
            "gate_via": step.gate_via,
            "judge_model": step.judge_model,
            "to": step.to,
            "judge_fallback": step.judge_fallback,
        }
        for step in trace
    ]
