"""Oracles for kernel tests: a function from request to answer, with everything that was asked kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.outcome import Outcome
from mklang.engine.requests import (
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    NotYet,
    Observation,
    Produce,
    Produced,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.engine.run import arun
from mklang.lang.reader import machine_from_text


class World:
    """Answers by kind; each handler may be replaced. ``asked`` lists every request but the nonce's, in order."""

    def __init__(self, **handlers: Callable[[Any], Answer]) -> None:
        self.asked: list[Request] = []
        self._handlers = handlers
        self.in_flight = self.most_in_flight = 0

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Nonce):
            return NonceValue("a-seed")
        self.asked.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        handler = self._handlers.get(type(request).__name__.lower())
        if handler is not None:
            return handler(request)
        return self._default(request)

    @staticmethod
    def _default(request: Request) -> Answer:
        match request:
            case Produce():
                return Produced(text="ok", usage=Usage(3, 2))
            case Judge():
                return Verdict(index=0, usage=Usage(1, 1))
            case Tool():
                return Observation(text="seen")
            case Hook():
                return HookValue(True)
            case Ask():
                return NotYet(question="")
            case Nonce():
                return NonceValue("a-seed")

    @property
    def prompts(self) -> list[str]:
        """The user messages, in the order asked."""
        return [request.user for request in self.asked if isinstance(request, Produce)]

    @property
    def keys(self) -> list[str]:
        """The keys, in the order asked."""
        return [request.key for request in self.asked]


def play(
    text: str,
    world: World,
    *,
    inputs: Mapping[str, Any] | None = None,
    callees: Mapping[str, str] | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Outcome:
    """Run a machine given as text, with callees given as texts by name."""
    library = {name: machine_from_text(callee) for name, callee in (callees or {}).items()}
    return asyncio.run(arun(machine_from_text(text), inputs, oracle=world, library=library, options=options))
