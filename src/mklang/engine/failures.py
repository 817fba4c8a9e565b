"""From an oracle's exception to the reason a run ends with: one table (L67)."""

from __future__ import annotations

from mklang.engine.level import Level, StateHalt
from mklang.engine.outcome import Reason
from mklang.engine.requests import usage_of
from mklang.engine.trace import TraceStep
from mklang.errors import (
    AnswerFailed,
    Cancelled,
    CostExhausted,
    ProviderFailed,
    Refused,
    ReplayMismatch,
    TimeExhausted,
)


def charged_halt(level: Level, step: TraceStep, failed: AnswerFailed) -> StateHalt:
    """The halt an oracle's failure leads to, and what the failure cost charged: call it once for each failure (W31)."""
    level.charge(step, usage_of(failed))
    return halt_of(failed)


def halt_of(failed: AnswerFailed) -> StateHalt:
    """The halt an oracle's failure leads to. The refusal keeps its words in the message, not in the error (L67)."""
    text = str(failed)
    if isinstance(failed, ProviderFailed):
        return StateHalt(Reason.PROVIDER_ERROR, text)
    if isinstance(failed, Refused):
        return StateHalt(Reason.REFUSAL, message=text)
    if isinstance(failed, Cancelled):
        return StateHalt(Reason.CANCELLED, message=text)
    if isinstance(failed, TimeExhausted):
        return StateHalt(Reason.TIME_EXHAUSTED, message=text)
    if isinstance(failed, CostExhausted):
        return StateHalt(Reason.COST_EXHAUSTED, message=text)
    if isinstance(failed, ReplayMismatch):
        return StateHalt(Reason.RESUME_MISMATCH, text)
    return StateHalt(Reason.STATE_ERROR, text)
