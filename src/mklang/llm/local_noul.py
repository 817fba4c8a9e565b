"""A model in this process as a judge with probabilities: held to yes or no, and what it gives each is read off.

A small model leans to one word whatever it is shown. Contextual calibration takes that leaning out: the same statement
is asked about a few texts that say nothing, and what is found there is subtracted. It helps models of half a billion
parameters and more and can hurt smaller ones, so the one that ships with mklang goes without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mklang.engine.requests import NO_USAGE, Usage
from mklang.llm.base import Exchange
from mklang.llm.fencing import fenced
from mklang.llm.local import LocalModel, Weighed
from mklang.llm.noul import FENCE_RULE, Chances, Questions, most_for

PROVIDER = "local"
WORDS = ("yes", "no")
NEUTRAL = ("N/A", "[MASK]", "The text.")
"""Texts that say nothing, for the calibration."""

_NEUTRAL_NONCE = "00000000"
_MOST_PRIORS = 4096
_LEAST = 1e-6


class LocalNoul:
    """Answers yes/no questions with the probabilities of a GGUF model. Closes the model that it is given."""

    provider = PROVIDER

    def __init__(self, model: LocalModel, *, calibrate: bool = False) -> None:
        """Loads nothing yet. What the calibration finds out about a statement is kept for as long as this lives."""
        self._model = model
        self._calibrate = calibrate
        self._priors: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"LocalNoul({self._model.name!r})"

    def most(self, questions: Questions) -> Usage:
        """See ``NoulBackend.most``."""
        return most_for(questions, apart=True)

    async def chances(self, questions: Questions) -> Chances:
        """A probability for each question, one pass over the model each. Raises as ``Chat.reply`` does."""
        asked = questions.asked
        priors, spent = await self._leanings(questions.key, asked)
        exchanges = _exchanges(questions.key, questions.parts, questions.nonce, asked)
        weighed = await self._model.weigh(exchanges, WORDS)
        values = [_without(prior, one.shares[0]) for prior, one in zip(priors, weighed, strict=True)]
        count = len(questions.conditions)
        return Chances(
            conditions=tuple(values[:count]),
            none=values[count] if len(values) > count else None,
            usage=_total([spent, *[one.usage for one in weighed]]),
            model=self._model.name,
            sent=f"{exchanges[0].system}\n{exchanges[0].user}",
        )

    async def aclose(self) -> None:
        """Free the model's memory."""
        await self._model.aclose()

    async def _leanings(self, key: str, statements: Sequence[str]) -> tuple[list[float], Usage]:
        """For each statement, how far the model leans to yes when there is nothing to judge, as log-odds."""
        if not self._calibrate:
            return [0.0] * len(statements), NO_USAGE
        unknown = [statement for statement in dict.fromkeys(statements) if statement not in self._priors]
        weighed: list[Weighed] = []
        for text in NEUTRAL if unknown else ():
            exchanges = _exchanges(key, {"OUTPUT": text}, _NEUTRAL_NONCE, unknown)
            weighed += await self._model.weigh(exchanges, WORDS)
        for number, statement in enumerate(unknown):
            found = [_log_odds(one.shares[0]) for one in weighed[number :: len(unknown)]]
            if len(self._priors) >= _MOST_PRIORS:
                self._priors.clear()
            self._priors[statement] = sum(found) / len(found)
        known = [self._priors.get(statement, 0.0) for statement in statements]
        return known, _total([one.usage for one in weighed])


def _exchanges(key: str, parts: Mapping[str, str], nonce: str, statements: Sequence[str]) -> list[Exchange]:
    """One question for each statement. What is judged comes first: it is the same in all, and read once."""
    system = FENCE_RULE.format(nonce=nonce)
    evidence = fenced(parts, nonce)
    return [
        Exchange(
            key=key,
            model="",
            system=system,
            user=f'{evidence}\n\nIs this true of the output: "{statement}"? Answer yes or no.',
            temperature=1.0,
        )
        for statement in statements
    ]


def _log_odds(share: float) -> float:
    kept = min(max(share, _LEAST), 1.0 - _LEAST)
    return math.log(kept / (1.0 - kept))


def _without(prior: float, share: float) -> float:
    """The probability without the leaning."""
    return share if prior == 0.0 else 1.0 / (1.0 + math.exp(prior - _log_odds(share)))


def _total(usages: Sequence[Usage]) -> Usage:
    total = NO_USAGE
    for usage in usages:
        total = total + usage
    return total
