"""What a run says while it runs (L116): small frozen values, each naming its machine, depth and run.

A run that is taken up again tells its story from the beginning, recorded answers included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from mklang.engine.outcome import Limits
from mklang.engine.requests import Usage
from mklang.engine.trace import Judgement, judgement_wire


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """``depth`` is 0 for the root machine; ``run_id`` names one machine's run, ``parent_run_id`` its caller's."""

    machine: str
    depth: int
    run_id: str
    parent_run_id: str | None = None


class RunStart(Event, frozen=True, kw_only=True, tag="run-start"):
    """A machine begins at ``entry``; ``resumed`` in a run that is taken up again. ``limits`` count all tokens."""

    entry: str
    limits: Limits
    resumed: bool = False


class StateStart(Event, frozen=True, kw_only=True, tag="state-start"):
    """A state is about to run; ``kind`` is generative, call or tool."""

    state: str
    step: int
    kind: str
    tier: str


class BranchDone(Event, frozen=True, kw_only=True, tag="branch-done"):
    """One branch of a fan-out finished, in the order of finishing."""

    state: str
    index: int
    usage: Usage
    error: str | None = None


class StateDone(Event, frozen=True, kw_only=True, tag="state-done"):
    """A step was recorded. ``output`` is a preview of at most 200 characters."""

    state: str
    step: int
    gate: str | None
    policy: str
    to: str | None
    usage: Usage
    output: str | None = None
    branches: int | None = None
    truncated: bool = False
    finish_reason: str | None = None
    error: str | None = None


class ModelAsked(Event, frozen=True, kw_only=True, tag="model-asked"):
    """The run puts a request to a model or judge; ``key`` is the request's. A recorded answer may be there already."""

    state: str
    key: str
    operation: str
    tier: str


class LlmStart(Event, frozen=True, kw_only=True, tag="llm-start"):
    """A model begins to answer (L116). ``operation`` is produce or judge, ``key`` the request's, here and below."""

    state: str
    key: str
    operation: str
    model: str
    tier: str


class LlmDelta(Event, frozen=True, kw_only=True, tag="llm-delta"):
    """A bit of what it writes. Of its thinking only ``delta_kind`` ``reasoning`` is told, and no text."""

    state: str
    key: str
    operation: str
    delta: str
    delta_kind: str


class LlmRetry(Event, frozen=True, kw_only=True, tag="llm-retry"):
    """An attempt failed and the request is made again after ``pause`` seconds: the text so far is void."""

    state: str
    key: str
    operation: str
    model: str
    attempt: int
    cause: str
    status: int | None = None
    pause: float = 0.0


class LlmDone(Event, frozen=True, kw_only=True, tag="llm-done"):
    """The reply is there."""

    state: str
    key: str
    operation: str
    model: str
    elapsed_ms: int
    input_tokens: int
    output_tokens: int
    finish_reason: str | None = None
    chars: int = 0
    reasoning_chars: int = 0


class LlmError(Event, frozen=True, kw_only=True, tag="llm-error"):
    """There is no reply."""

    state: str
    key: str
    operation: str
    model: str
    elapsed_ms: int
    error_type: str


class Judged(Event, frozen=True, kw_only=True, tag="judged"):
    """A judge's answer is there and has been read: all of the judgement, as the trace keeps it (S29).

    ``produce_hash`` is over the text that was judged; for a text a state produced it is the step's ``output_hash``.
    """

    state: str
    judgement: Judgement
    produce_hash: str


class UntrustedControlFlow(Event, frozen=True, kw_only=True, tag="untrusted-control-flow"):
    """A judged decision over outside data reached an effectful tool (L78)."""

    state: str
    tool: str
    policy: str


class RunFinished(Event, frozen=True, kw_only=True, tag="run-finished"):
    """A machine ended."""

    status: str
    error: str | None
    at: str | None
    usage: Usage
    limits: Limits


LlmEvent: TypeAlias = LlmStart | LlmDelta | LlmRetry | LlmDone | LlmError
AnyEvent: TypeAlias = (
    RunStart | StateStart | ModelAsked | LlmEvent | Judged | BranchDone | StateDone | UntrustedControlFlow | RunFinished
)
Observer: TypeAlias = Callable[[AnyEvent], None]


_ALWAYS: dict[type[Event], frozenset[str]] = {
    RunStart: frozenset({"resumed"}),
    StateDone: frozenset({"gate", "to"}),
    RunFinished: frozenset({"error", "at"}),
}
"""Keys that are written although they are null or false."""


def to_wire(event: AnyEvent) -> dict[str, object]:
    """The JSON form (L116): what is absent has no key, a usage is told as ``tokens``, and ``usd`` where it is known."""
    wire: dict[str, object] = {"type": event.__struct_config__.tag}
    always = _ALWAYS.get(type(event), frozenset())
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, Usage):
            wire |= _spent(value, always=not isinstance(event, StateDone))
        elif isinstance(value, Limits):
            wire[name] = value.to_wire()
        elif isinstance(value, Judgement):
            wire |= _judged(value)
        elif name in always or not (value is None or value is False):
            wire[name] = value
    return wire


def _judged(judgement: Judgement) -> dict[str, object]:
    wire = judgement_wire(judgement)
    wire.pop("usage", None)
    return wire | {"chosen": judgement.chosen} | _spent(judgement.usage, always=True)


def _spent(usage: Usage, *, always: bool) -> dict[str, object]:
    wire: dict[str, object] = {"tokens": usage.to_wire()} if always or usage.total else {}
    if usage.nano_usd:
        wire["usd"] = usage.nano_usd / 1e9
    return wire


def preview(text: str | None) -> str | None:
    """At most 200 characters, the cut marked."""
    return text if text is None or len(text) <= 200 else text[:199] + "…"
