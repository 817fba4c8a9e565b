"""What the tests of models ask, and a pace at which nothing takes time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mklang.engine.requests import Judge, Produce
from mklang.lang.models import Tier
from mklang.llm.openai_compat import OpenAICompat
from mklang.llm.retry import Pace, RetryPolicy, Traffic

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@dataclass
class Slept:
    """A pace whose pauses are noted instead of taken; its clock moves by them and by nothing else."""

    pauses: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    @property
    def pace(self) -> Pace:
        return Pace(sleep=self.sleep, now=lambda: NOON, jitter=lambda: 0.0, elapsed=lambda: sum(self.pauses))


def endpoint(
    base_url: str, slept: Slept | None = None, *, key: str | None = None, retry: RetryPolicy | None = None,
    timeout: float = 20.0, **more: Any,
) -> OpenAICompat:  # fmt: skip
    traffic = Traffic(pace=(slept or Slept()).pace, retry=retry)
    return OpenAICompat(base_url, traffic=traffic, api_key=key, timeout=timeout, **more)


def write(
    user: str = "Write.", *, key: str = "1:s/produce", system: str = "Be brief.", temperature: float = 0.4
) -> Produce:
    return Produce(key=key, state="s", tier=Tier.FAST, system=system, user=user, temperature=temperature)


def decide(*conditions: str, output: str = "text", context: str = "{}", reasoning: str | None = None) -> Judge:
    return Judge(
        key="1:s/judge[0]",
        state="s",
        tier=Tier.FAST,
        conditions=conditions or ("it is short", "it is long"),
        output=output,
        context=context,
        reasoning=reasoning,
        nonce="5eed5eed5eed",
    )
