"""What every extension must keep to, as functions a plug-in's own tests can call. Each raises ``AssertionError``.

They look at what the host relies on, with inputs the extension's author gives; they cannot say that it is useful.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from mklang.engine.options import Effect
from mklang.engine.requests import Hook, Judge, Produce, Produced, Read, Tool, Usage, Verdict
from mklang.errors import AnswerFailed
from mklang.guards import Checked, Guard
from mklang.hooks.hook import HostHook
from mklang.hooks.registry import HookRegistry
from mklang.lang.models import Tier
from mklang.lang.reader import read_file
from mklang.lang.values import Json
from mklang.llm import base
from mklang.tools.registry import ToolRegistry
from mklang.tools.tool import HostTool


def check_tool(tool: HostTool, fits: Mapping[str, Json], misfit: Mapping[str, Json] | None = None) -> str:
    """A tool answers an input that ``fits`` with text, twice alike when it only looks and is idempotent; a ``misfit``
    fails the state and nothing else. Gives the observation."""
    json.dumps(dict(tool.schema))
    registry = ToolRegistry([tool])

    def call(given: Mapping[str, Json]) -> str:
        request = Tool(
            key="k", state="s", name=tool.name, input=dict(given), effect=tool.effect, idempotency_key="once"
        )
        return asyncio.run(registry.answer(request)).text

    text = call(fits)
    text.encode()
    if tool.effect is Effect.READ and tool.idempotent:
        assert call(fits) == text, f"tool '{tool.name}' is said to be idempotent and answers differently"
    if misfit is not None:
        try:
            reported = call(misfit)
        except AnswerFailed:
            return text
        assert '"error"' in reported, f"tool '{tool.name}' takes {dict(misfit)!r} for an input that fits"
    return text


def check_hook(
    hook: HostHook,
    *,
    holds: tuple[Mapping[str, Json], Json],
    fails: tuple[Mapping[str, Json], Json],
) -> None:
    """A hook is true for one blackboard and output, false for the other, says so again, and changes neither."""

    def ask(context: Mapping[str, Json], output: Json) -> bool:
        before = json.dumps([dict(context), output])
        request = Hook(key="k", state="s", name=hook.name, context=context, output=output)
        answer = asyncio.run(HookRegistry([hook]).answer(request)).holds
        assert json.dumps([dict(context), output]) == before, f"hook '{hook.name}' changes what it is shown"
        return answer

    for _ in range(2):
        assert ask(*holds), f"hook '{hook.name}' is false where it should be true"
        assert not ask(*fails), f"hook '{hook.name}' is true where it should be false"


def check_backend(backend: base.Backend, model: str) -> Produced:
    """A provider's back-end answers with text, says what it cost and no more than it said before, and closes twice."""
    request = Produce(key="1:s/produce", state="s", tier=Tier.BALANCED, system="Answer.", user="Say yes.")

    async def ask() -> Produced:
        most = backend.most(base.exchange_of(request, model, base.NO_PARAMS))
        assert isinstance(most, Usage)
        answer = await backend.produce(request, model=model)
        assert isinstance(answer, Produced)
        assert answer.text.strip(), "an empty text is no answer: raise ProviderFailed"
        await backend.aclose()
        await backend.aclose()
        return answer

    return asyncio.run(ask())


def check_judge(judge: base.Judge) -> Verdict:
    """A judge answers with a verdict whose index is one of the conditions or none, and closes twice."""
    conditions = ("it is a question", "it is an answer")
    request = Judge(
        key="1:s/judge[0]",
        state="s",
        tier=Tier.BALANCED,
        conditions=conditions,
        output="Is it?",
        context="{}",
        nonce="n0",
    )

    async def ask() -> Verdict:
        assert isinstance(judge.most(request), Usage)
        verdict = await judge.judge(request)
        assert isinstance(verdict, Verdict)
        if verdict.read is not Read.UNREAD:
            assert verdict.index is None or 0 <= verdict.index < len(conditions)
        if verdict.probabilities is not None:
            assert len(verdict.probabilities) == len(conditions)
        await judge.aclose()
        await judge.aclose()
        return verdict

    return asyncio.run(ask())


def check_guard(guard: Guard, *, passes: str, refused: str) -> None:
    """A guard has an opinion, and the same one twice: one text passes it, the other does not."""
    good, bad = guard.examine(passes), guard.examine(refused)
    assert isinstance(good, Checked), f"guard '{guard.name}' refuses what should pass: {good}"
    assert not isinstance(bad, Checked), f"guard '{guard.name}' passes what it should refuse"
    again = guard.examine(passes)
    assert isinstance(again, Checked)
    assert again.content() == good.content(), f"guard '{guard.name}' gives another value the second time"


def check_machine(path: str | Path) -> None:
    """A machine that is brought reads without a warning and has the name of its file."""
    reading = read_file(str(path))
    assert not reading.diagnostics, "\n".join(found.render() for found in reading.diagnostics)
    assert reading.machine is not None
    assert reading.machine.name == Path(path).stem, "a machine has the name of its file"
