"""A judge with probabilities on any chat endpoint that tells log-probabilities: what it gives yes against no.

One short question for each condition, all at once. What is read is not the answer but how likely each way of beginning
it was; a model that would begin with anything else says nothing that counts.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from mklang.engine.requests import NO_USAGE, Usage
from mklang.errors import AnswerFailed, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.addresses import check_url
from mklang.llm.base import Exchange
from mklang.llm.conversing import prompt_bytes
from mklang.llm.dialect import REFUSALS, Dialect
from mklang.llm.json_endpoint import JsonEndpoint
from mklang.llm.noul import Chances, Questions, most_for
from mklang.llm.replies import usage_or_estimate
from mklang.llm.retry import Traffic, add_cost

PROVIDER = "logprobs"
TIMEOUT = 120.0
"""Seconds one request may take: one token is written, but a slow server may read the evidence for a while."""
MOST_ALTERNATIVES = 20
FEW_ALTERNATIVES = 5
"""How many beginnings are asked for, and how many where an endpoint refuses the first number."""
LEAST_MASS = 0.05
"""What yes and no must have together: below it the model was about to say something else."""

_SYSTEM = "You decide whether a statement is true of a text. Answer with one word: yes or no. In doubt, answer no."
_ROUNDING = 1e-3
"""How far above 0 a logarithm of a probability may be for having been rounded."""
_STRIPPED = " \t\r\n.,:;!*_\"'`▁ĠĊ"


class LogprobNoul:
    """Answers yes/no questions through ``POST …/chat/completions`` with ``logprobs``.

    What it learns about the endpoint it keeps on itself: which optional parameters it takes, how many alternatives.
    """

    provider = PROVIDER

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        traffic: Traffic,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used, ``MissingExtra``."""
        url = f"{check_url(base_url)}/chat/completions"
        self._endpoint = JsonEndpoint(url, traffic=traffic, api_key=api_key, timeout=timeout)
        self._model = model
        self._dialect = Dialect()
        self._alternatives = MOST_ALTERNATIVES

    def __repr__(self) -> str:
        return f"LogprobNoul({self._endpoint.url!r}, model={self._model!r})"

    def most(self, questions: Questions) -> Usage:
        """See ``NoulBackend.most``."""
        return most_for(questions, apart=True)

    async def chances(self, questions: Questions) -> Chances:
        """A probability for each question, from one request each. Raises ``ProviderFailed``, with what was spent."""
        asked = questions.asked

        async def one(statement: str) -> tuple[float, Usage]:
            return await self._endpoint.retried(lambda: self._negotiated(questions, statement))

        found = await asyncio.gather(*[one(statement) for statement in asked], return_exceptions=True)
        answers = [answer for answer in found if isinstance(answer, tuple)]
        usage = _total([usage for _, usage in answers])
        for failed in found:
            if isinstance(failed, AnswerFailed):
                add_cost(failed, usage)
                raise failed
            if isinstance(failed, BaseException):
                raise failed
        values = [value for value, _ in answers]
        count = len(questions.conditions)
        told = Chances(usage=usage, model=self._model)
        for statement, value in zip(asked, values, strict=True):
            if math.isnan(value):
                return told.refused(f"the model answers neither yes nor no to '{statement[:80]}'")
        rest = values[count:]
        return Chances(conditions=tuple(values[:count]), none=rest[0] if rest else None, usage=usage, model=self._model)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _negotiated(self, questions: Questions, statement: str) -> tuple[float, Usage]:
        """One answer's probability, NaN for none; what the endpoint refuses is left out and the request sent again."""
        exchange = Exchange(
            key=questions.key,
            model=self._model,
            system=_SYSTEM,
            user=f'{questions.evidence}\n\nIs this true of the OUTPUT: "{statement}"? Answer yes or no.',
            temperature=0.0,
            params={"max_tokens": 1},
        )
        while True:
            dialect, alternatives = self._dialect, self._alternatives
            body: dict[str, Json] = dialect.body(exchange)
            body |= {"logprobs": True, "top_logprobs": alternatives}
            reply = await self._endpoint.ask_once(body)
            if reply.status not in REFUSALS or not self._learn(exchange, reply.told, dialect, alternatives):
                break
        if reply.status in REFUSALS and "logprobs" in reply.text:
            raise ProviderFailed(_no_logprobs(self._endpoint.url, reply.status))
        completion = self._endpoint.check(reply)
        usage = usage_or_estimate(completion.get("usage"), prompt=prompt_bytes(exchange), written="")
        return _chance(completion, self._endpoint.url), usage

    def _learn(self, exchange: Exchange, message: str, dialect: Dialect, alternatives: int) -> bool:
        """Whether a refusal names something that can be left out or made smaller; then it is."""
        if "top_logprobs" in message and alternatives > FEW_ALTERNATIVES:
            self._alternatives = FEW_ALTERNATIVES
            return True
        learned = dialect.learn(exchange, message)
        if learned is None:
            return False
        self._dialect = learned
        return True


def _chance(completion: Mapping[str, Any], url: str) -> float:
    """What yes has of what yes and no have together, at the first token; NaN when that is next to nothing."""
    try:
        first = completion["choices"][0]["logprobs"]["content"][0]
        told = [(str(one["token"]), float(one["logprob"])) for one in first["top_logprobs"]]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ProviderFailed(_no_logprobs(url, None)) from None
    shares = {"yes": 0.0, "no": 0.0}
    for token, value in told:
        word = token.strip(_STRIPPED).casefold()
        if word in shares and value <= _ROUNDING:
            shares[word] += math.exp(value)
    mass = sum(shares.values())
    return shares["yes"] / mass if mass >= LEAST_MASS else math.nan


def _no_logprobs(url: str, status: int | None) -> str:
    how = f" (HTTP {status})" if status is not None else ""
    return (
        f"{url} gives no log-probabilities{how}, so this model cannot judge with probabilities: "
        "use 'mapping: choice', another model, or another judge"
    )


def _total(usages: Sequence[Usage]) -> Usage:
    total = NO_USAGE
    for usage in usages:
        total = total + usage
    return total
