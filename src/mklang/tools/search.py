"""The tool ``search``: the web through a back-end, or an honest stub (L105)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from msgspec import Meta

from mklang.engine.options import Effect
from mklang.errors import MissingExtra
from mklang.lang.values import Json
from mklang.tools.envelope import Payload, ToolProblem, clipped, reporting
from mklang.tools.tool import HostTool

TAVILY = "https://api.tavily.com"
LIMITS: Mapping[str, int] = {"title": 300, "url": 500, "snippet": 800, "published_date": 64}
"""How many characters of each part of a result are shown."""
TIMEOUT = 15.0
_MOST_BYTES = 2_000_000

Topic = Literal["general", "news"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is looked for; ``days`` limits it to the latest ones."""

    query: str
    max_results: int = 5
    days: int | None = None
    topic: Topic = "general"


class SearchBackend(Protocol):
    """Something that searches. ``live`` means that a question leaves this machine."""

    @property
    def live(self) -> bool:
        """Whether somebody real is asked."""
        ...

    async def search(self, question: Question) -> list[dict[str, str]]:
        """Results with ``title``, ``url``, ``snippet`` and perhaps ``published_date``. Raises ``ToolProblem``."""
        ...


@dataclass(frozen=True, slots=True)
class NoSearch:
    """Nothing is bound."""

    live: bool = False

    async def search(self, _question: Question) -> list[dict[str, str]]:
        """No results."""
        return []


@dataclass(frozen=True, slots=True)
class FakeSearch:
    """Three results made from the question, for trying a machine out."""

    live: bool = False

    async def search(self, question: Question) -> list[dict[str, str]]:
        """As many as asked for, at most three."""
        return [
            {
                "title": f"Result {number} for {question.query}",
                "url": f"https://example.com/{number}",
                "snippet": f"This is made up: text {number} about {question.query}.",
            }
            for number in range(1, min(question.max_results, 3) + 1)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tavily:
    """The search service of that name. The key goes to ``base_url`` and nowhere else; redirects are not followed."""

    api_key: str
    base_url: str = TAVILY
    live: bool = True

    async def search(self, question: Question) -> list[dict[str, str]]:
        """Ask it, once. Raises ``ToolProblem`` for an outage and for a reply that is none."""
        try:
            import httpx2  # an extra
        except ImportError:
            raise MissingExtra("the search back-end 'tavily'", "tools") from None
        body: dict[str, Json] = {"query": question.query, "max_results": question.max_results, "topic": question.topic}
        if question.days is not None:
            body["days"] = question.days
        headers = {"Authorization": f"Bearer {self.api_key}"}
        try:
            async with httpx2.AsyncClient(timeout=TIMEOUT, follow_redirects=False) as client:
                response = await client.post(f"{self.base_url}/search", json=body, headers=headers)
        except httpx2.HTTPError as error:
            raise ToolProblem(f"the search service did not answer ({type(error).__name__})") from None
        if response.status_code != 200:
            raise ToolProblem(f"the search service answered with status {response.status_code}")
        try:
            found = response.json()["results"]
            return [_result(one) for one in found[: question.max_results]]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ToolProblem("the search service's reply cannot be read") from None


def _result(one: Mapping[str, object]) -> dict[str, str]:
    parts = {"title": "title", "url": "url", "snippet": "content", "published_date": "published_date"}
    return {ours: str(one[theirs]) for ours, theirs in parts.items() if one.get(theirs) is not None}


def search_tool(backend: SearchBackend) -> HostTool:
    """``search`` over a back-end. One that asks somebody real sends the question away: egress, not read (L77)."""

    async def search(
        query: Annotated[str, Meta(min_length=1)],
        max_results: Annotated[int, Meta(ge=1, le=10)] = 5,
        days: Annotated[int, Meta(ge=1, le=365)] | None = None,
        topic: Topic = "general",
    ) -> Payload:
        question = Question(query=query, max_results=max_results, days=days, topic=topic)
        found = await backend.search(question)
        results: list[Json] = [
            {part: clipped(result[part], limit) for part, limit in LIMITS.items() if part in result} for result in found
        ]
        payload: dict[str, Json] = {"query": query, "results": results}
        if isinstance(backend, NoSearch):
            payload["message"] = "no search back-end is bound: nothing was looked up (tools.search.backend)"
        return payload

    return reporting(
        search,
        name="search",
        description="Search the web: results with title, url and snippet.",
        effect=Effect.EGRESS if backend.live else Effect.READ,
        stub=not backend.live,
        idempotent=True,
        timeout=2 * TIMEOUT,
    )
