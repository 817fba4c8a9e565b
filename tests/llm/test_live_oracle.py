"""The live oracle hands each request to the one who answers it."""

from __future__ import annotations

import asyncio

import pytest

from mklang.engine.options import Effect
from mklang.engine.oracle import Oracle
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
from mklang.errors import UnknownHook, UnknownTier, UnknownTool
from mklang.hooks.registry import HookRegistry
from mklang.lang.models import Tier
from mklang.llm.base import NO_PARAMS, Exchange, Params, TierModel
from mklang.llm.choice import ChoiceJudge, JudgeModel
from mklang.oracles.live import LiveOracle
from mklang.tools.registry import ToolRegistry
from tests.llm.asking import decide, write


class Echo:
    """A back-end that says who was asked what."""

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        return Produced(text=f"{model} {request.user} {dict(params)}")

    def most(self, _: object) -> Usage:
        return Usage()

    async def reply(self, exchange: Exchange) -> Produced:
        return Produced(text='{"choice": 2}', model=exchange.model)

    async def aclose(self) -> None:
        return


ECHO = Echo()
ORACLE: Oracle = LiveOracle(
    models={Tier.FAST: TierModel(backend=ECHO, model="small", params={"top_k": 1})},
    judge=ChoiceJudge({Tier.FAST: JudgeModel(ECHO, "judging")}),
    tools=ToolRegistry({"shout": lambda arguments: str(arguments["text"]).upper()}),
    hooks=HookRegistry({"loud": lambda context, output: str(output).isupper()}),
    nonce=lambda: "unguessable",
)


def ask(request: Request) -> Answer:
    return asyncio.run(ORACLE.answer(request))


def tool(name: str) -> Tool:
    return Tool(key="k", state="s", name=name, input={"text": "hey"}, effect=Effect.READ, idempotency_key="once")


def hook(name: str) -> Hook:
    return Hook(key="k", state="s", name=name, context={}, output="HEY")


def test_each_request_is_answered_by_its_own() -> None:
    assert ask(write("Hi")) == Produced(text="small Hi {'top_k': 1}")
    assert ask(decide()) == Verdict(index=1, model="judging", fence_applied=True)
    assert ask(tool("shout")) == Observation("HEY")
    assert ask(hook("loud")) == HookValue(True)
    assert ask(Nonce(key="nonce")) == NonceValue("unguessable")


def test_a_question_to_a_person_stays_unanswered() -> None:
    question = Ask(key="k", state="s", asked_by="t", reply_to="human.reply", about="x", question="Yes?")
    assert ask(question) == NotYet(question="Yes?")


@pytest.mark.parametrize("kind", [Produce, Judge])
def test_a_tier_nobody_configured_is_named_with_those_there_are(kind: type) -> None:
    request = write() if kind is Produce else decide()
    other = type(request)(
        **{name: getattr(request, name) for name in request.__struct_fields__} | {"tier": Tier.REASONING}
    )
    with pytest.raises(UnknownTier, match=r"tier 'reasoning' not configured .*fast"):
        ask(other)


def test_a_name_nobody_registered_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownTool, match="shout"):
        ask(tool("whisper"))
    with pytest.raises(UnknownHook, match="loud"):
        ask(hook("quiet"))
