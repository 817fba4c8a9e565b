"""Judges that ask no model through a ``Chat`` are told of like the others: that they are asked, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping

from mklang.engine.requests import Judge as JudgeRequest
from mklang.engine.requests import Usage, Verdict
from mklang.errors import AnswerFailed
from mklang.lang.models import Tier
from mklang.llm.base import Judge
from mklang.llm.signals import Broke, Finished, Started, Watch


class ToldJudge:
    """A judge with somebody who may be watching. ``models`` names who judges the tiers that are to be told of."""

    def __init__(self, inner: Judge, models: Mapping[Tier, str], watch: Watch) -> None:
        self._inner = inner
        self._models = dict(models)
        self._watch = watch

    async def judge(self, request: JudgeRequest) -> Verdict:
        """See ``Judge.judge``."""
        model = self._models.get(request.tier)
        if model is None or not self._watch.watching:
            return await self._inner.judge(request)
        self._watch(Started(key=request.key, model=model))
        try:
            verdict = await self._inner.judge(request)
        except AnswerFailed as failed:
            self._watch(Broke(key=request.key, model=model, error=type(failed).__name__))
            raise
        self._watch(Finished(key=request.key, model=verdict.model or model, usage=verdict.usage))
        return verdict

    def most(self, request: JudgeRequest) -> Usage:
        """See ``Judge.most``."""
        return self._inner.most(request)

    async def aclose(self) -> None:
        """Close the inner judge."""
        await self._inner.aclose()
