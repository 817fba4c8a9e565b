"""Answers pinned to the key of their request: what was answered once is answered again, exactly, whoever asks first.

A script that names keys needs no order, so it can pin a run whose fan-outs ask again and again. What an answer must fit
is checked when it is used: a verdict's position, a reply's path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import msgspec

from mklang.engine.requests import (
    NO_USAGE,
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Observation,
    Produce,
    Produced,
    Reply,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.errors import (
    AnswerFailed,
    Cancelled,
    CostExhausted,
    HookFailed,
    ProviderFailed,
    Refused,
    StateFailed,
    TimeExhausted,
    ToolFailed,
)
from mklang.lang.values import Json
from mklang.oracles.journaled import unknown_outcome
from mklang.oracles.people import says_yes


class Operation(Enum):
    """What a request's key ends in, and so what answers it."""

    PRODUCE = "produce"
    JUDGE = "judge"
    TOOL = "tool"
    HOOK = "hook"
    ASK = "ask"


_ENDING = re.compile(r"\d+:.*(?:/(produce|tool|ask|which)|/(judge|hook)\[\d+\])", re.DOTALL)


def operation_of(key: str) -> Operation | None:
    """What is asked under a key; None when it is no request's key. ``which`` asks a person for a gate."""
    found = _ENDING.fullmatch(key)
    if found is None:
        return None
    word = found[1] or found[2]
    return Operation.ASK if word == "which" else Operation(word)


class FailureKind(Enum):
    """Who failed. ``tool``, ``hook`` and ``state`` all halt ``state-error``; the words are for the reader.

    ``limit`` is a token or money limit that was reached before the request.
    """

    PROVIDER = "provider"
    REFUSED = "refused"
    TOOL = "tool"
    HOOK = "hook"
    STATE = "state"
    TIME = "time"
    LIMIT = "limit"
    CANCELLED = "cancelled"

    @classmethod
    def of(cls, failed: AnswerFailed, operation: Operation | None) -> FailureKind:
        """The kind of a failure that answered a request of some operation."""
        for kind, exception in _EXCEPTIONS.items():
            if type(failed) is exception and kind is not cls.STATE:
                return kind
        return {Operation.TOOL: cls.TOOL, Operation.HOOK: cls.HOOK}.get(operation or Operation.ASK, cls.STATE)


_EXCEPTIONS: Mapping[FailureKind, type[AnswerFailed]] = {
    FailureKind.PROVIDER: ProviderFailed,
    FailureKind.REFUSED: Refused,
    FailureKind.TOOL: ToolFailed,
    FailureKind.HOOK: HookFailed,
    FailureKind.STATE: StateFailed,
    FailureKind.TIME: TimeExhausted,
    FailureKind.LIMIT: CostExhausted,
    FailureKind.CANCELLED: Cancelled,
}


@dataclass(frozen=True, slots=True)
class PinnedFailure:
    """The request could not be answered; ``usage`` is what it cost all the same."""

    message: str
    kind: FailureKind
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class PinnedReply:
    """What a person answered: context path to value. ``confirms`` None lets the reply's own words decide (L80)."""

    values: Mapping[str, Json]
    confirms: bool | None = None
    expired: bool = False


class Unsettled(Enum):
    """An answer that is none yet."""

    OUTCOME_UNKNOWN = "unknown"
    """A tool was called and nobody knows what became of it: the run waits for somebody to say (L84)."""


PinnedAnswer: TypeAlias = Produced | Verdict | Observation | HookValue | PinnedReply | PinnedFailure | Unsettled


class Misfit(Exception):
    """A pinned answer does not fit the request with its key; the text completes "asked …, and"."""


class Pins:
    """Pinned answers and which of them were used."""

    def __init__(self, answers: Mapping[str, PinnedAnswer]) -> None:
        self._answers = answers
        self._used: set[str] = set()

    @property
    def unused(self) -> tuple[str, ...]:
        """The keys that nothing asked for, as written."""
        return tuple(key for key in self._answers if key not in self._used)

    def find(self, request: Request) -> Answer | None:
        """The answer pinned to a request; None where there is none.

        Raises ``Misfit``, and the failure itself where one is pinned.
        """
        pinned = self._answers.get(request.key)
        if pinned is None:
            return None
        self._used.add(request.key)
        if isinstance(pinned, PinnedFailure):
            raise _EXCEPTIONS[pinned.kind](pinned.message, **msgspec.structs.asdict(pinned.usage))
        return _fitting(request, pinned)


def _fitting(request: Request, pinned: PinnedAnswer) -> Answer:
    """The pinned answer as the engine knows it, if it is one to this request."""
    match request, pinned:
        case (Judge(), Verdict()):
            return _in_range(pinned, len(request.conditions))
        case (Ask(), PinnedReply()):
            return _reply(request, pinned)
        case (Tool(), Unsettled.OUTCOME_UNKNOWN):
            return unknown_outcome(request)
        case (Produce(), Produced() as answer) | (Tool(), Observation() as answer) | (Hook(), HookValue() as answer):
            return answer
        case _:
            raise Misfit(f"'answers' pins a {type(pinned).__name__} to it")


def _in_range(verdict: Verdict, count: int) -> Verdict:
    """A position equal to the number of conditions is none (L91); one beyond is no verdict."""
    if verdict.probabilities is not None and len(verdict.probabilities) != count:
        raise Misfit(f"{len(verdict.probabilities)} probabilities are pinned to it, for {count} conditions")
    if verdict.index is None or 0 <= verdict.index < count:
        return verdict
    if verdict.index == count:
        return Verdict(index=None, usage=verdict.usage, model=verdict.model)
    raise Misfit(f"the verdict pinned to it is {verdict.index}, allowed is 0 to {count - 1}, or none")


def _reply(request: Ask, pinned: PinnedReply) -> Reply:
    values = dict(pinned.values)
    if pinned.expired:
        return Reply(values=values or {request.reply_to: None}, expired=True)
    if request.reply_to not in values:
        raise Misfit(f"the reply pinned to it has no value for '{request.reply_to}', where it is read")
    confirms = says_yes(values[request.reply_to]) if pinned.confirms is None else pinned.confirms
    return Reply(values=values, confirms=confirms)
