"""What a journal holds: a record for each answer, and the few facts that are not answers. On the wire, JSON lines."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from mklang.engine.requests import NO_USAGE, Answer, Usage, usage_of
from mklang.errors import AnswerFailed, Cancelled, ProviderFailed, Refused, StateFailed, TimeExhausted


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag="answer", tag_field="type"):
    """An answer, and the digest of the question it was given to."""

    key: str
    digest: str
    answer: Answer


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failure", tag_field="type", omit_defaults=True):
    """A request that could not be answered. Kept so that a run that went on past it replays the same way.

    ``usage`` is what it cost all the same.
    """

    key: str
    digest: str
    kind: str
    message: str
    usage: Usage = NO_USAGE

    @property
    def passing(self) -> bool:
        """Whether the run itself was called off, so that going on asks again whatever came after."""
        return self.kind in _PASSING


_PASSING = frozenset({TimeExhausted.__name__, Cancelled.__name__})


class Intent(msgspec.Struct, frozen=True, kw_only=True, tag="intent", tag_field="type"):
    """An effectful tool is about to be called. Without a later answer, nobody knows whether it happened."""

    key: str
    digest: str
    tool: str


class Cleared(msgspec.Struct, frozen=True, kw_only=True, tag="cleared", tag_field="type"):
    """A person decided that a call of unknown outcome is to be made again."""

    key: str


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag="asked", tag_field="type"):
    """A question was put to a person. Times are seconds since the epoch; ``deadline`` None means it never expires."""

    key: str
    digest: str
    question: str
    reply_to: str
    at: float
    deadline: float | None = None


Entry: TypeAlias = Answered | Failed | Intent | Cleared | Asked


class Journal(Protocol):
    """Where records are kept: looked up by key, appended so that they outlive the process."""

    def answered(self, key: str) -> Answered | Failed | None:
        """The record that settles a request, if there is one."""
        ...

    def intended(self, key: str) -> bool:
        """Whether an effectful call was begun and neither settled nor cleared."""
        ...

    def asked(self, key: str) -> Asked | None:
        """When a question was first put to a person."""
        ...

    def remembers(self, key: str) -> bool:
        """Whether any record settles the request ``key`` or one below it."""
        ...

    async def append(self, entry: Entry, /) -> None:
        """Keep a record; returns once it is safe."""
        ...


def failure(key: str, digest: str, failed: AnswerFailed) -> Failed:
    """The record of an oracle's failure."""
    return Failed(key=key, digest=digest, kind=type(failed).__name__, message=str(failed), usage=usage_of(failed))


def as_exception(failed: Failed) -> AnswerFailed:
    """The failure as it was first raised, as far as a run can tell."""
    return _EXCEPTIONS.get(failed.kind, StateFailed)(failed.message, **msgspec.structs.asdict(failed.usage))


_EXCEPTIONS: dict[str, type[AnswerFailed]] = {
    kind.__name__: kind for kind in (ProviderFailed, Refused, TimeExhausted, Cancelled)
}
