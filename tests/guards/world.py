"""Runs with guards: a folder of documents, a model that says what the test says, tools that remember."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mklang.engine.requests import Judge, Produce, Produced, Usage, Verdict
from mklang.host.models import Models
from mklang.host.session import Order, Session, prepare
from mklang.lang.models import Tier
from mklang.llm.base import NO_PARAMS, Exchange, Params, TierModel
from mklang.tools.registry import ToolRegistry

MACHINE = """
machine: post
entry: draft
budget: 9
context: { topic: rain, texts: [a, b, c] }
states:
  draft:
    structure: a note
    prompt: "About {{topic}}"
    output: note
    gates: [{ when: otherwise, then: ok, to: send }]
  send:
    tool: send_note
    input: { text: "{{note}}", to: team }
    output: receipt
    gates: [{ when: otherwise, then: ok, to: END }]
"""
NOTE = """
guard: note
parse: text
forbid: [ignore previous]
bounds: { bytes: 60 }
"""


class Saying:
    """A model that says the texts in turn, the last one for ever."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked = 0

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        self.asked += 1
        return Produced(text=self.texts.pop(0) if len(self.texts) > 1 else self.texts[0])

    def most(self, _: object) -> Usage:
        return Usage()

    async def reply(self, exchange: Exchange) -> Produced:
        raise NotImplementedError(exchange.key)

    async def judge(self, request: Judge) -> Verdict:
        return Verdict(index=0)

    async def aclose(self) -> None:
        """Nothing to let go of."""


class Post:
    """A tool that acts: it keeps what it was given."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def __call__(self, arguments: dict[str, Any]) -> str:
        self.sent.append(arguments)
        return "sent"


def write(folder: Path, **files: str) -> Path:
    """Files by name, ``post.mkl`` among them; returns its path."""
    for name, text in {"post.mkl": MACHINE, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "post.mkl"


Prepare = Callable[..., Session]


def preparing(monkeypatch: pytest.MonkeyPatch, saying: Saying, tools: Mapping[str, Any]) -> Prepare:
    """A way to put runs together on that model and those tools."""
    tiers = {tier: TierModel(backend=saying, model="fake") for tier in Tier}
    models = Models(tiers=tiers, judge=saying, notice="a fake answers")
    monkeypatch.setattr("mklang.host.session.choose_models", lambda **_: models)

    def make(path: Path, **order: Any) -> Session:
        return prepare(Order(path=str(path), **order), tools=ToolRegistry(tools))

    return make
