"""What tokens cost: prices of the host's own, else a table that ships with a package, in exact billionths of a dollar.

A price that is not known is never a price of zero (P-25): ``find_price`` gives None then, and a host with a limit on
money refuses to begin. What a provider says about the cost of a reply is not looked at.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Protocol

import msgspec

from mklang.engine.requests import Judge as JudgeRequest
from mklang.engine.requests import Produce, Produced, Usage, Verdict, usage_of
from mklang.errors import AnswerFailed
from mklang.lang.models import Tier
from mklang.llm.base import NO_PARAMS, Backend, Exchange, Judge, Params
from mklang.llm.retry import add_cost

NANO = 10**9
_PER = 10**6


class Price(Protocol):
    """What a model's tokens cost."""

    def nano_usd(self, usage: Usage) -> int:
        """Billionths of a US dollar, rounded up."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrice:
    """US dollars for a million tokens, as a host says. ``cached`` None: what comes from a cache costs as much."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None

    def nano_usd(self, usage: Usage) -> int:
        """See ``Price.nano_usd``."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        cost = fresh * self.input + usage.output_tokens * self.output
        cost += cached * (self.input if self.cached is None else self.cached)
        return _nano(cost / _PER)


FREE = OwnPrice(input=Decimal(0), output=Decimal(0))
"""Models in this process, and on a server of one's own."""


@dataclass(frozen=True, slots=True)
class TablePrice:
    """The price of a model in the table of ``genai-prices``: long prompts, caches and hours of the day included."""

    model: str
    provider: str

    def nano_usd(self, usage: Usage) -> int:
        """See ``Price.nano_usd``."""
        from genai_prices import Usage as TableUsage
        from genai_prices import calc_price

        counted = TableUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of kinds of tokens that a model has no price for
            return _nano(calc_price(counted, model_ref=self.model, provider_id=self.provider).total_price)


def find_price(model: str, own: Mapping[str, Price], *, table: str | None) -> Price | None:
    """The price of a model: the host's own, else the table's under the provider's name there; None when neither is."""
    if model in own:
        return own[model]
    if table is None or importlib.util.find_spec("genai_prices") is None:
        return None
    price = TablePrice(model, table)
    try:
        price.nano_usd(Usage(1, 1))
    except (LookupError, ValueError):
        return None
    return price


def _nano(usd: Decimal) -> int:
    return int((usd * NANO).to_integral_value(ROUND_CEILING))


class PricedBackend:
    """A back-end whose replies and failures carry what they cost. A model without a price adds nothing."""

    def __init__(self, inner: Backend, price: Callable[[str], Price | None]) -> None:
        self._inner = inner
        self._price = price

    def __repr__(self) -> str:
        return f"PricedBackend({self._inner!r})"

    @property
    def inner(self) -> Backend:
        """Who answers."""
        return self._inner

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        """See ``Model.produce``."""
        try:
            return self._priced(await self._inner.produce(request, model=model, params=params), model)
        except AnswerFailed as failed:
            self._charge(failed, model)
            raise

    async def reply(self, exchange: Exchange) -> Produced:
        """See ``Chat.reply``."""
        try:
            return self._priced(await self._inner.reply(exchange), exchange.model)
        except AnswerFailed as failed:
            self._charge(failed, exchange.model)
            raise

    def most(self, exchange: Exchange) -> Usage:
        """See ``Chat.most``."""
        return priced(self._inner.most(exchange), self._price(exchange.model))

    async def aclose(self) -> None:
        """Close the inner back-end."""
        await self._inner.aclose()

    def _priced(self, produced: Produced, model: str) -> Produced:
        return msgspec.structs.replace(produced, usage=priced(produced.usage, self._price(model)))

    def _charge(self, failed: AnswerFailed, model: str) -> None:
        price = self._price(model)
        if price is not None:
            add_cost(failed, Usage(nano_usd=price.nano_usd(usage_of(failed))))


class PricedJudge:
    """A judge whose verdicts carry what they cost, for judges that ask no ``Backend``."""

    def __init__(self, inner: Judge, price: Callable[[Tier], Price | None]) -> None:
        """``price`` is that of the model that judges a tier."""
        self._inner = inner
        self._price = price

    async def judge(self, request: JudgeRequest) -> Verdict:
        """See ``Judge.judge``."""
        verdict = await self._inner.judge(request)
        if verdict.usage.nano_usd:
            return verdict
        return msgspec.structs.replace(verdict, usage=priced(verdict.usage, self._price(request.tier)))

    def most(self, request: JudgeRequest) -> Usage:
        """See ``Judge.most``."""
        most = self._inner.most(request)
        return most if most.nano_usd else priced(most, self._price(request.tier))

    async def aclose(self) -> None:
        """Close the inner judge."""
        await self._inner.aclose()


def priced(usage: Usage, price: Price | None) -> Usage:
    """The usage with its price, where one is known."""
    return usage if price is None else usage + Usage(nano_usd=price.nano_usd(usage))
