"""The oracle of a real run: models write, a judge judges, tools and hooks are called, nonces are drawn.

It only hands each request to whoever answers it. What they need to know about each other is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, assert_never

from mklang.engine.requests import (
    NO_USAGE,
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    NotYet,
    Observation,
    Produce,
    Produced,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.errors import UnknownTier
from mklang.lang.models import Tier


class Producer(Protocol):
    """A tier's model."""

    async def produce(self, request: Produce) -> Produced:
        """Write the text a request asks for."""
        ...

    def most(self, request: Produce) -> Usage:
        """The most that the text can cost."""
        ...


class Judging(Protocol):
    """A judge."""

    async def judge(self, request: Judge) -> Verdict:
        """Say which condition is the first that is true."""
        ...

    def most(self, request: Judge) -> Usage:
        """The most that the verdict can cost."""
        ...


class Toolbox(Protocol):
    """The host's tools."""

    async def answer(self, request: Tool) -> Observation:
        """Call the tool a request names."""
        ...


class Hooks(Protocol):
    """The host's hooks."""

    async def answer(self, request: Hook) -> HookValue:
        """Ask the hook a request names."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOracle:
    """Answers each request by the one whose business it is. ``models`` says which model a tier stands for (L46).

    Nobody is asked in person: a question stays unanswered, and the run suspends. A wrapper that knows a person answers
    before the request gets here.
    """

    models: Mapping[Tier, Producer]
    judge: Judging
    tools: Toolbox
    hooks: Hooks
    nonce: Callable[[], str]

    async def answer(self, request: Request, /) -> Answer:
        """Answer one request. Raises ``UnknownTier``, and what the one who answers raises."""
        match request:
            case Produce():
                return await self._model(request.tier).produce(request)
            case Judge():
                return await self.judge.judge(request)
            case Tool():
                return await self.tools.answer(request)
            case Hook():
                return await self.hooks.answer(request)
            case Nonce():
                return NonceValue(self.nonce())
            case Ask():
                return NotYet(question=request.question or "")
            case _:
                assert_never(request)

    def most(self, request: Request, /) -> Usage:
        """See ``Foreseeing.most``. Raises ``UnknownTier``."""
        match request:
            case Produce():
                return self._model(request.tier).most(request)
            case Judge():
                return self.judge.most(request)
            case _:
                return NO_USAGE

    def _model(self, tier: Tier) -> Producer:
        model = self.models.get(tier)
        if model is None:
            raise UnknownTier(tier.value, (known.value for known in self.models))
        return model
