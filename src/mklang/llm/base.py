"""What a model and a judge are to the rest of mklang (L103), and what their implementations share.

A back-end implements ``Chat``: one exchange in, one reply out. ``Model`` and ``Judge`` are what callers see. Streaming,
limits, prices and other kinds of judges are wrappers of these three or new implementations; no caller changes for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Protocol, TypeAlias

from mklang.engine.requests import Judge as JudgeRequest
from mklang.engine.requests import Produce, Produced, Usage, Verdict
from mklang.lang.values import Json

Params: TypeAlias = Mapping[str, Json]
"""What the host configured for a tier, passed to produce calls only (L44). A null leaves a parameter out."""

NO_PARAMS: Params = MappingProxyType({})

RESERVED_PARAMS = frozenset({"messages", "model", "n", "response_format", "stream", "stream_options"})
"""Parameters that mklang sets itself and no configuration may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One question to a model: a system and a user message, complete.

    ``key`` is the request's; ``params`` the tier's. With ``choices`` the reply must be ``{"choice": k}``, k from 1 to
    ``choices``, and a back-end that can holds the model to that form. ``turns`` go on after the user message, the
    model's and the user's in turn. With ``reason`` the back-end asks for the model's own thinking, in its own way; an
    ``aside`` is a reply that is thinking as a whole.
    """

    key: str
    model: str
    system: str
    user: str
    temperature: float
    params: Params = field(default_factory=lambda: NO_PARAMS)
    choices: int | None = None
    turns: tuple[str, ...] = ()
    reason: bool = False
    aside: bool = False


class Chat(Protocol):
    """Anything that takes messages and replies."""

    async def reply(self, exchange: Exchange) -> Produced:
        """The model's reply, as it is: its text may be empty or cut off.

        Raises ``ProviderFailed`` for an outage or a reply that is none, ``Refused`` when the model declined.
        """
        ...

    def most(self, exchange: Exchange) -> Usage:
        """The most that a reply can cost: the prompt's tokens, guessed, and as many as the reply may have. With
        ``reason`` that is what private notes and the answer can cost.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections, threads and memory. May be called twice."""
        ...


class Model(Protocol):
    """Answers ``Produce``."""

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        """Text that is not empty, from the model with the id ``model``. Raises as ``Chat.reply`` does."""
        ...

    async def aclose(self) -> None:
        """Let go of connections, threads and memory. May be called twice."""
        ...


class Judge(Protocol):
    """Answers ``Judge``: which condition is the first that is true."""

    async def judge(self, request: JudgeRequest) -> Verdict:
        """A verdict, read or unread (L61, L62). Raises as ``Chat.reply`` does."""
        ...

    def most(self, request: JudgeRequest) -> Usage:
        """The most that a verdict can cost, as ``Chat.most``."""
        ...

    async def aclose(self) -> None:
        """Let go of connections, threads and memory. May be called twice."""
        ...


class Backend(Chat, Model, Protocol):
    """Somewhere that models run: it replies, and so it produces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierModel:
    """What a tier stands for: a model of a back-end, with the parameters the host gave the tier (L46, L96)."""

    backend: Backend
    model: str
    params: Params = field(default_factory=lambda: NO_PARAMS)

    async def produce(self, request: Produce) -> Produced:
        """Answer a request with this model."""
        return await self.backend.produce(request, model=self.model, params=self.params)

    def most(self, request: Produce) -> Usage:
        """The most that the text can cost; see ``Chat.most``."""
        return self.backend.most(replace(exchange_of(request, self.model, self.params), reason=request.reason))


def exchange_of(request: Produce, model: str, params: Params) -> Exchange:
    """A produce request as an exchange."""
    return Exchange(
        key=request.key,
        model=model,
        system=request.system,
        user=request.user,
        temperature=request.temperature,
        params={name: value for name, value in params.items() if name not in RESERVED_PARAMS},
    )


def messages_of(exchange: Exchange) -> list[Json]:
    """An exchange as the messages of the chat completions API."""
    roles = ("assistant", "user")
    turns = [(roles[number % 2], text) for number, text in enumerate(exchange.turns)]
    said = [("system", exchange.system), ("user", exchange.user), *turns]
    return [{"role": role, "content": sendable(text)} for role, text in said]


def seed_of(exchange: Exchange, base: int = 0) -> int:
    """The seed of one exchange: notes and the answer after them have different ones."""
    return derived_seed(f"{exchange.key}/notes" if exchange.aside else exchange.key, base)


def choice_schema(choices: int) -> dict[str, Json]:
    """The JSON Schema of a judge's reply: nothing but the legal numbers (L60)."""
    legal: list[Json] = list(range(1, choices + 1))
    return {
        "type": "object",
        "properties": {"choice": {"type": "integer", "enum": legal}},
        "required": ["choice"],
        "additionalProperties": False,
    }


def derived_seed(key: str, base: int = 0) -> int:
    """A seed for one request, always the same for the same key.

    One seed for every request would make the branches of a ``sample`` identical; this keeps a run repeatable and its
    branches different.
    """
    return int.from_bytes(blake2b(f"{base}/{key}".encode("utf-8", "replace"), digest_size=4).digest(), "big") >> 1


def sendable(text: str) -> str:
    """The text without halves of surrogate pairs, which no wire takes (W13)."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
