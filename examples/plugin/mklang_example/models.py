"""A provider whose model says what it is told, and a judge that takes the first condition."""

from __future__ import annotations

from mklang.engine.requests import Judge, Produce, Produced, Usage, Verdict
from mklang.host.plugins import ModelPlace
from mklang.llm.base import NO_PARAMS, Exchange, Params


class Echo:
    """A back-end without a model."""

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        """The prompt's last line."""
        return Produced(text=request.user.splitlines()[-1], usage=Usage(len(request.user) // 4, 1), model=model)

    async def reply(self, exchange: Exchange) -> Produced:
        """The same for a plain exchange."""
        return Produced(text=exchange.user.splitlines()[-1], model=exchange.model)

    def most(self, exchange: Exchange) -> Usage:
        """No more than the exchange is long."""
        return Usage(len(exchange.system) + len(exchange.user), len(exchange.user))

    async def aclose(self) -> None:
        """Nothing to let go of."""


class First:
    """A judge that finds every condition true."""

    async def judge(self, request: Judge) -> Verdict:
        """The first."""
        return Verdict(index=0, model="first")

    def most(self, request: Judge) -> Usage:
        """Nothing."""
        return Usage()

    async def aclose(self) -> None:
        """Nothing to let go of."""


def echo(place: ModelPlace) -> Echo:
    """The provider 'echo': any model id will do."""
    return Echo()


def first(place: ModelPlace) -> First:
    """The judge 'first': 'judge: plugin:first'."""
    return First()
