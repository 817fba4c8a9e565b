"""Telling an observer what a run does. Free of cost when nobody listens."""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import TypedDict

from mklang.engine.digests import content_hash
from mklang.engine.events import (
    AnyEvent,
    BranchDone,
    Judged,
    ModelAsked,
    Observer,
    RunFinished,
    RunStart,
    StateDone,
    StateStart,
    UntrustedControlFlow,
    preview,
)
from mklang.engine.level import Level, kind_of
from mklang.engine.outcome import Done, Limits, Meter, Outcome, status_of
from mklang.engine.requests import Judge, Produce, Usage
from mklang.engine.trace import Judgement, TraceStep
from mklang.lang.models import State, Tool

_log = logging.getLogger("mklang.engine")


def harmless(observer: Observer | None) -> Observer | None:
    """The observer with its exceptions logged instead of raised: watching a run never changes it (L116)."""
    if observer is None:
        return None

    def watch(event: AnyEvent) -> None:
        try:
            observer(event)
        except Exception:  # noqa: BLE001 - calling an observer: whatever it does, the run goes on
            _log.warning("an observer failed on %s", type(event).__name__, exc_info=True)

    return watch


class _Who(TypedDict):
    machine: str
    depth: int
    run_id: str
    parent_run_id: str | None


def _who(level: Level) -> _Who:
    """The identity every event of a level carries. A level's run id is derived, so a replayed run keeps it."""
    if not level.run_id:
        seed = f"{level.prefix}{level.machine.name}".encode("utf-8", "surrogatepass")
        level.run_id = blake2b(seed, key=level.shared.seed.encode()[:64], digest_size=16).hexdigest()
    return {
        "machine": level.machine.name,
        "depth": level.depth,
        "run_id": level.run_id,
        "parent_run_id": level.parent_run_id,
    }


def _limits(level: Level) -> Limits:
    """The steps of this level, and the tokens and the money that the whole run has spent: one pool (L65)."""
    options, spent = level.shared.options, level.shared.pool.spent
    return Limits(
        steps=Meter(used=level.steps, limit=level.step_limit),
        tokens=Meter(used=spent.total, limit=options.max_tokens),
        nano_usd=Meter(used=spent.nano_usd, limit=options.max_nano_usd),
        usage=spent,
    )


def tell_start(level: Level) -> None:
    """A machine begins."""
    observer = level.shared.observer
    if observer is not None:
        observer(RunStart(entry=level.machine.entry, limits=_limits(level), **_who(level)))


def tell_state(level: Level, state: State) -> None:
    """A state is about to run."""
    observer = level.shared.observer
    if observer is not None:
        kind, tier = kind_of(state), level.tier_of(state).value
        observer(StateStart(state=state.id, step=level.steps + 1, kind=kind, tier=tier, **_who(level)))


def tell_branch(level: Level, state: State, *, index: int, usage: Usage, error: str | None) -> None:
    """A branch finished, in the order of finishing."""
    observer = level.shared.observer
    if observer is not None:
        observer(BranchDone(state=state.id, index=index, usage=usage, error=error, **_who(level)))


def tell_step(level: Level, step: TraceStep) -> None:
    """A step was recorded."""
    observer = level.shared.observer
    if observer is not None:
        observer(
            StateDone(
                state=step.state,
                step=step.step,
                gate=step.gate,
                policy=step.policy,
                to=step.to,
                usage=step.usage,
                output=preview(step.output),
                branches=None if step.branches is None else len(step.branches),
                truncated=step.truncated,
                finish_reason=step.finish_reason,
                error=step.error,
                **_who(level),
            )
        )


def tell_request(level: Level, request: Produce | Judge) -> None:
    """A model or judge is about to be asked."""
    observer = level.shared.observer
    if observer is not None:
        operation = "produce" if isinstance(request, Produce) else "judge"
        observer(
            ModelAsked(
                state=request.state, key=request.key, operation=operation, tier=request.tier.value, **_who(level)
            )
        )


def tell_judged(level: Level, state: str, judgement: Judgement, *, text: str) -> None:
    """A judge's answer has been read."""
    observer = level.shared.observer
    if observer is not None:
        observer(Judged(state=state, judgement=judgement, produce_hash=content_hash(text), **_who(level)))


def tell_untrusted_flow(level: Level, state: Tool) -> None:
    """A judged decision over outside data reached an effectful tool (L78)."""
    observer = level.shared.observer
    if observer is not None:
        policy = level.shared.options.on_untrusted_flow.value
        observer(UntrustedControlFlow(state=state.id, tool=state.tool, policy=policy, **_who(level)))


def tell_finished(level: Level, outcome: Outcome) -> None:
    """A machine ended."""
    observer = level.shared.observer
    if observer is not None:
        observer(
            RunFinished(
                status=status_of(outcome),
                error=None if isinstance(outcome, Done) else outcome.error,
                at=None if isinstance(outcome, Done) else outcome.at,
                usage=level.usage,
                limits=_limits(level),
                **_who(level),
            )
        )
