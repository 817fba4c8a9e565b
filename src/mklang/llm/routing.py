"""Several judges as one: each tier's decisions go to its own."""

from __future__ import annotations

from collections.abc import Mapping

from mklang.engine.requests import Judge as JudgeRequest
from mklang.engine.requests import Usage, Verdict
from mklang.errors import UnknownTier
from mklang.lang.models import Tier
from mklang.llm.base import Judge


class RoutedJudge:
    """Hands each request to the judge of its tier. Closes them all."""

    __slots__ = ("_judges",)

    def __init__(self, judges: Mapping[Tier, Judge]) -> None:
        self._judges = dict(judges)

    async def judge(self, request: JudgeRequest) -> Verdict:
        """The tier's judge's verdict. Raises ``UnknownTier``, and as ``Chat.reply`` does."""
        return await self._of(request.tier).judge(request)

    def most(self, request: JudgeRequest) -> Usage:
        """See ``Judge.most``. Raises ``UnknownTier``."""
        return self._of(request.tier).most(request)

    async def aclose(self) -> None:
        """Close each judge once."""
        for judge in {id(judge): judge for judge in self._judges.values()}.values():
            await judge.aclose()

    def _of(self, tier: Tier) -> Judge:
        judge = self._judges.get(tier)
        if judge is None:
            raise UnknownTier(tier.value, (known.value for known in self._judges))
        return judge
