"""The one method behind which everything that can answer stands: models, judges, tools, hooks, humans, scripts."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from mklang.engine.requests import NO_USAGE, Answer, Request, Usage


class Oracle(Protocol):
    """Answers requests. Implementations compose like transports: each may wrap another.

    ``answer`` returns the answer kind that belongs to the request, or raises a subclass of
    :class:`mklang.errors.AnswerFailed`. It may be awaited concurrently from several branches and keeps nothing about a
    run on itself.
    """

    async def answer(self, request: Request, /) -> Answer:
        """Answer one request."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """What an oracle offers besides, when it has answers that were paid for already."""

    def remembers(self, key: str, /) -> bool:
        """Whether it has the answer to the request ``key``, or to one below that key."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """What an oracle offers besides, when it knows beforehand what an answer can cost."""

    def most(self, request: Request, /) -> Usage:
        """The most that answering a request can cost: nothing where it costs nothing, or where nobody knows."""
        ...


def most_of(oracle: Oracle, request: Request) -> Usage:
    """The most that an oracle's answer can cost, as far as it is known beforehand."""
    return oracle.most(request) if isinstance(oracle, Foreseeing) else NO_USAGE
