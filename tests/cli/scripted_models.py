"""Models for runs of the command line that answer what a test says, by state."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mklang.engine.requests import Judge, Produce, Produced, Usage, Verdict
from mklang.host.models import Models
from mklang.lang.models import Tier
from mklang.llm.base import NO_PARAMS, Exchange, Params, TierModel


class Scripted:
    """A model and a judge in one. ``texts`` and ``verdicts`` are by state; an exception among the texts is raised."""

    def __init__(self, texts: Mapping[str, str | Exception], verdicts: Mapping[str, int | None]) -> None:
        self.texts = texts
        self.verdicts = verdicts
        self.asked: list[str] = []

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        self.asked.append(request.key)
        text = self.texts[request.state]
        if isinstance(text, Exception):
            raise text
        return Produced(text=text, usage=Usage(10, 5, 2_000), model=model, seconds=0.25)

    def most(self, _: object) -> Usage:
        return Usage()

    async def reply(self, exchange: Exchange) -> Produced:
        raise NotImplementedError(exchange.key)

    async def judge(self, request: Judge) -> Verdict:
        self.asked.append(request.key)
        return Verdict(index=self.verdicts[request.state], usage=Usage(20, 1), model="judge-1")

    async def aclose(self) -> None:
        pass


def answer_with(
    monkeypatch: pytest.MonkeyPatch,
    texts: Mapping[str, str | Exception],
    verdicts: Mapping[str, int | None] | None = None,
) -> Scripted:
    """Let these texts and verdicts answer the runs that follow; returns who is asked."""
    scripted = Scripted(texts, verdicts or {})
    models = Models(
        tiers={tier: TierModel(backend=scripted, model=f"model-{tier.value}") for tier in Tier},
        judge=scripted,
        judged_by=dict.fromkeys(Tier, "judge-1"),
        notice="a script answers",
    )
    monkeypatch.setattr("mklang.host.session.choose_models", lambda **_: models)
    return scripted
