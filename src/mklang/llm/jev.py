"""System One as a judge: one request for a whole decision, one noul question for each condition (ADR 0037).

Only probabilities are taken. A pick among options is refused, whatever it says: choosing is the kernel's business, and
it chooses the first condition that reaches the threshold, not the likeliest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mklang.engine.requests import Usage
from mklang.lang.models import Tier
from mklang.lang.values import Json
from mklang.llm.addresses import check_closed_url
from mklang.llm.json_endpoint import JsonEndpoint
from mklang.llm.noul import Chances, NoulJudge, NoulSettings, Questions, most_for, told_besides
from mklang.llm.retry import Traffic

PROVIDER = "jev"
MODEL = "jev-latest"
BASE_URL = "https://api.typesafe.ai"
KEY_VARIABLE = "TYPESAFE_API_KEY"
TIMEOUT = 30.0
"""Seconds one request may take; a usual one takes less than one."""

_NONE = "none"
_CRITERIA: Json = {
    "true": "The statement is plainly true of the material.",
    "false": "The statement is not true of the material, or it is in doubt.",
}


def is_reserved(model: str) -> bool:
    """Whether a model id belongs to System One: such a model judges and never writes (S25, S32)."""
    return model == "jev" or model.startswith("jev-")


def why_no_writer(model: str) -> str:
    """Why a reserved id can be no tier's model."""
    return f"'{model}' answers yes/no questions and writes nothing: it can be a judge, not a tier's model"


def systemone_url(base_url: str) -> str:
    """The address questions go to. The base may end in ``/v1`` or name the whole path. Raises ``ConfigError``.

    Stricter than for models: ``https``, or this machine.
    """
    base = check_closed_url(base_url)
    if base.endswith("/systemone"):
        return base
    return f"{base}/systemone" if base.endswith("/v1") else f"{base}/v1/systemone"


class SystemOne:
    """Answers noul questions through ``POST …/v1/systemone``."""

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
        url = systemone_url(base_url)
        self._endpoint = JsonEndpoint(url, traffic=traffic, api_key=api_key, timeout=timeout)
        self.model = MODEL if model == "jev" else model

    def __repr__(self) -> str:
        return f"SystemOne({self._endpoint.url!r}, model={self.model!r})"

    def most(self, questions: Questions) -> Usage:
        """See ``NoulBackend.most``."""
        return most_for(questions, apart=False)

    async def chances(self, questions: Questions) -> Chances:
        """All probabilities, from one request. Raises ``ProviderFailed``."""
        body = await self._endpoint.ask(request_body(self.model, questions))
        return read_answers(body, questions, model=self.model)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()


class JevNoulJudge(NoulJudge):
    """System One as the judge of a host: the walk, the fence and the none path are ``NoulJudge``'s."""

    def __init__(
        self,
        backend: SystemOne,
        settings: NoulSettings | None = None,
        *,
        tiers: Iterable[Tier] = Tier,
    ) -> None:
        """``tiers`` are those it judges, all of them unless said otherwise."""
        super().__init__(dict.fromkeys(tiers, backend), settings)


def request_body(model: str, questions: Questions) -> dict[str, Json]:
    """One noul question for each condition, in gate order, under the names ``g0``, ``g1``, …, and one for none."""
    asked: dict[str, Json] = {f"g{number}": _question(text) for number, text in enumerate(questions.conditions)}
    if questions.none is not None:
        asked[_NONE] = _question(questions.none)
    return {"model": model, "state": questions.evidence, "questions": asked}


def _question(text: str) -> Json:
    return {"type": "noul", "instructions": text, "criteria": _CRITERIA}


def read_answers(body: Mapping[str, object], questions: Questions, *, model: str) -> Chances:
    """The probabilities in a reply, or why it holds none. Never fills in what is missing."""
    answers = body.get("answers")
    told = told_besides(body, questions, model=model)
    if not isinstance(answers, dict):
        return told.refused("the reply holds no answers")
    names = [f"g{number}" for number in range(len(questions.conditions))]
    values: list[float] = []
    for name in [*names, *([_NONE] if questions.none is not None else [])]:
        value = _noul(answers.get(name))
        if isinstance(value, str):
            return told.refused(f"answer '{name}' {value}")
        values.append(value)
    conditions, rest = values[: len(names)], values[len(names) :]
    return replace(told, conditions=tuple(conditions), none=rest[0] if rest else None)


def _noul(answer: object) -> float | str:
    """The probability in one answer, or what is wrong with it."""
    if not isinstance(answer, dict):
        return "is missing"
    if "choice" in answer:
        return "is a choice, and a choice is no verdict"
    if answer.get("type") != "noul":
        return f"is of type {str(answer.get('type'))[:40]!r}, not 'noul'"
    value = answer.get("noul")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"holds no number ({str(value)[:40]!r})"
    if not 0.0 <= value <= 1.0:
        return f"holds {str(value)[:40]}, which is no probability"
    return float(value)
