"""A tool state's observation is text, and a tool's fault is the state's, never the program's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from functools import partial

import pytest

from mklang.engine.options import Effect
from mklang.engine.requests import Tool
from mklang.errors import ToolFailed, UnknownTool
from mklang.lang.values import Json
from mklang.tools.registry import ToolFunction, ToolRegistry


def request(name: str, arguments: dict[str, Json] | None = None) -> Tool:
    return Tool(key="1:s/tool", state="s", name=name, input=arguments or {}, effect=Effect.READ, idempotency_key="once")


def call(tool: ToolFunction, arguments: dict[str, Json] | None = None) -> str:
    return asyncio.run(ToolRegistry({"it": tool}).answer(request("it", arguments))).text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ({"a": [1, True, None], "ü": "é"}, '{"a": [1, true, null], "ü": "é"}'),
        (["x"], '["x"]'),
        (("x", 1), '["x", 1]'),
        (None, "null"),
        (1.5, "1.5"),
        (True, "true"),
    ],
)
def test_text_is_the_observation_as_it_is_and_everything_else_its_json(result: object, text: str) -> None:
    assert call(lambda arguments: result) == text


@pytest.mark.parametrize("result", [{1, 2}, b"bytes", float("nan"), object(), {("a",): 1}])
def test_a_result_that_json_cannot_hold_fails_the_state(result: object) -> None:
    with pytest.raises(ToolFailed, match=type(result).__name__):
        call(lambda arguments: result)


def test_a_result_that_contains_itself_fails_the_state() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ToolFailed, match="list"):
        call(lambda arguments: loop)


def test_the_built_in_tool_and_the_hosts_own_of_the_same_name() -> None:
    assert asyncio.run(ToolRegistry().answer(request("calc", {"expr": "6*7"}))).text == "42"
    assert asyncio.run(ToolRegistry({"calc": lambda arguments: "mine"}).answer(request("calc"))).text == "mine"


def test_an_unknown_tool_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownTool, match=r"unknown tool 'serach' \(registered: calc, search\)"):
        asyncio.run(ToolRegistry({"search": str}).answer(request("serach")))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no such city"), "tool 'it': ValueError: no such city"),
        (SystemExit(1), "tool 'it': SystemExit: 1"),
        (StopIteration(), "tool 'it': RuntimeError: the tool raised StopIteration"),
        (asyncio.CancelledError(), "tool 'it': CancelledError"),
        (RecursionError(), "tool 'it': RecursionError"),
    ],
)
def test_whatever_a_tool_raises_fails_the_state_with_type_and_message(error: BaseException, message: str) -> None:
    def broken(arguments: Mapping[str, Json]) -> str:
        raise error

    async def broken_too(arguments: Mapping[str, Json]) -> str:
        raise error

    with pytest.raises(ToolFailed) as caught:
        call(broken)
    assert str(caught.value) == message
    if not isinstance(error, StopIteration):  # which Python itself replaces in a coroutine
        with pytest.raises(ToolFailed) as caught:
            call(broken_too)
        assert str(caught.value) == message


def test_a_tool_may_be_a_coroutine_function_an_object_or_return_an_awaitable() -> None:
    async def coroutine(arguments: dict[str, Json]) -> str:
        return "coroutine"

    class Callable:
        async def __call__(self, arguments: dict[str, Json]) -> str:
            return "object"

    def apply(tool: ToolFunction, arguments: dict[str, Json]) -> object:
        return tool(arguments)

    assert call(coroutine) == "coroutine"
    assert call(Callable()) == "object"
    assert call(partial(apply, coroutine)) == "coroutine"


def test_a_synchronous_tool_does_not_hold_up_the_event_loop() -> None:
    async def scenario() -> str:
        go = threading.Event()

        def slow(arguments: dict[str, Json]) -> str:
            assert go.wait(10)
            return "done"

        task = asyncio.create_task(ToolRegistry({"slow": slow}).answer(request("slow")))
        while not task.done() and not go.is_set():
            await asyncio.sleep(0)  # the loop turns while the tool waits for it
            go.set()
        return (await task).text

    assert asyncio.run(scenario()) == "done"


def test_cancelling_the_run_is_not_the_tools_fault() -> None:
    async def scenario() -> bool:
        started = asyncio.Event()

        async def slow(arguments: dict[str, Json]) -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        task = asyncio.create_task(ToolRegistry({"slow": slow}).answer(request("slow")))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(scenario())


def test_a_tool_gets_a_map_of_its_own() -> None:
    given: dict[str, Json] = {"list": ["a"]}

    def meddle(arguments: dict[str, Json]) -> str:
        inner = arguments["list"]
        assert isinstance(inner, list)
        inner.append("b")
        arguments["more"] = 1
        return "ok"

    assert call(meddle, given) == "ok"
    assert given == {"list": ["a"]}
