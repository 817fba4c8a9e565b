"""OpenAI's decisions as a judge: one request for a whole decision, one predicate question for each condition.

The rule about fences goes in a message of its own, from the developer, so that evidence cannot speak in its place. Only
predicates are taken: a choice, a score or a refusal is no probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mklang.engine.requests import Usage
from mklang.lang.values import Json
from mklang.llm.addresses import check_url
from mklang.llm.fencing import fenced
from mklang.llm.json_endpoint import JsonEndpoint
from mklang.llm.noul import FENCE_RULE, Chances, Questions, most_for, told_besides
from mklang.llm.retry import Traffic

PROVIDER = "openai-decisions"
MODEL = "gpt-6-luna"
BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
TIMEOUT = 60.0
MOST_QUESTIONS = 400


class DecisionsNoul:
    """Answers yes/no questions through ``POST …/decisions``."""

    provider = PROVIDER

    def __init__(
        self,
        base_url: str = BASE_URL,
        *,
        traffic: Traffic,
        api_key: str | None = None,
        model: str = MODEL,
        timeout: float = TIMEOUT,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used, ``MissingExtra``."""
        url = f"{check_url(base_url)}/decisions"
        self._endpoint = JsonEndpoint(url, traffic=traffic, api_key=api_key, timeout=timeout)
        self._model = model

    def __repr__(self) -> str:
        return f"DecisionsNoul({self._endpoint.url!r}, model={self._model!r})"

    def most(self, questions: Questions) -> Usage:
        """See ``NoulBackend.most``."""
        return most_for(questions, apart=False)

    async def chances(self, questions: Questions) -> Chances:
        """All probabilities, from one request. Raises ``ProviderFailed``."""
        names = question_names(questions)
        if len(names) > MOST_QUESTIONS:
            return Chances(model=self._model, problem=f"{len(names)} questions; one request takes {MOST_QUESTIONS}")
        rule, evidence = FENCE_RULE.format(nonce=questions.nonce), fenced(questions.parts, questions.nonce)
        body = await self._endpoint.ask(_body(self._model, questions, names, rule=rule, evidence=evidence))
        return read_answers(body, names, questions, model=self._model, sent=f"{rule}\n{evidence}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()


def question_names(questions: Questions) -> list[str]:
    """The questions' names: ``g0``, ``g1``, … in gate order, and ``none``."""
    names = [f"g{number}" for number in range(len(questions.conditions))]
    return names if questions.none is None else [*names, "none"]


def _body(model: str, questions: Questions, names: list[str], *, rule: str, evidence: str) -> dict[str, Json]:
    asked: list[Json] = [
        {"type": "predicate", "name": name, "instructions": statement}
        for name, statement in zip(names, questions.asked, strict=True)
    ]
    return {
        "model": model,
        "input": [
            {"type": "message", "role": "developer", "content": rule},
            {"type": "message", "role": "user", "content": evidence},
        ],
        "questions": asked,
    }


def read_answers(
    body: Mapping[str, object], names: list[str], questions: Questions, *, model: str, sent: str
) -> Chances:
    """The probabilities in a reply, or why it holds none."""
    told = told_besides(body, questions, model=model, sent=sent)
    answers = body.get("answers")
    if not isinstance(answers, list) or len(answers) != len(names):
        count = len(answers) if isinstance(answers, list) else "no"
        return told.refused(f"{count} answers to {len(names)} questions")
    values: list[float] = []
    for name, answer in zip(names, answers, strict=True):
        value = _probability(answer, name)
        if isinstance(value, str):
            return told.refused(f"answer '{name}' {value}")
        values.append(value)
    count = len(questions.conditions)
    rest = values[count:]
    return replace(told, conditions=tuple(values[:count]), none=rest[0] if rest else None)


def _probability(answer: object, name: str) -> float | str:
    """The probability in one answer, or what is wrong with it."""
    if not isinstance(answer, dict):
        return "is missing"
    if answer.get("type") != "predicate":
        return f"is of type {str(answer.get('type'))[:40]!r}, not 'predicate'"
    if answer.get("name") not in (None, name):
        return f"belongs to the question {str(answer.get('name'))[:40]!r}"
    value = answer.get("probability")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return f"holds {str(value)[:40]}, which is no probability"
    return float(value)
