"""A tool is one value: its name, what it takes, what it does to the world, how long and at what price."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from mklang.engine.options import Effect, RunOptions
from mklang.engine.outcome import Done, Halted, Outcome
from mklang.engine.requests import Nonce, NonceValue, Request, Tool
from mklang.engine.run import run
from mklang.errors import ConfigError, ToolFailed
from mklang.lang.reader import machine_from_text
from mklang.lang.values import Json
from mklang.tools.registry import ToolRegistry
from mklang.tools.tool import HostTool, tool

MACHINE = """\
machine: m
entry: call
budget: 3
states:
  call: {{ tool: it, input: {input}, output: seen, gates: [{{ when: otherwise, then: ok, to: END }}] }}
"""


class OnlyTools:
    """An oracle for machines without models."""

    def __init__(self, tools: ToolRegistry) -> None:
        self.tools = tools
        self.effects: list[Effect] = []

    async def answer(self, request: Request, /) -> Any:
        if isinstance(request, Nonce):
            return NonceValue("n")
        assert isinstance(request, Tool)
        self.effects.append(request.effect)
        return await self.tools.answer(request)


def outcome(given: HostTool, input: str = "{}", options: RunOptions | None = None) -> Outcome:
    registry = ToolRegistry([given])
    machine = machine_from_text(MACHINE.format(input=input), "m.mkl")
    return run(machine, oracle=OnlyTools(registry), options=options or RunOptions(tool_effects=registry.effects))


@tool(effect="read", timeout=5, usd_per_call="0.01")
def weather(city: str, days: int = 1, unit: Literal["c", "f"] = "c", tags: list[str] | None = None) -> dict[str, Json]:
    """The weather in a city."""
    return {"city": city, "days": days, "unit": unit, "tags": list(tags or [])}


def test_a_decorated_function_says_everything_about_itself() -> None:
    assert (weather.name, weather.description) == ("weather", "The weather in a city.")
    assert (weather.effect, weather.timeout, weather.nano_usd) == (Effect.READ, 5, 10_000_000)
    assert dict(weather.schema) == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"enum": ["c", "f"]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert weather("Rome", days=2)["days"] == 2  # still the author's function


def test_the_input_is_read_by_the_type_hints() -> None:
    renamed = HostTool(name="it", function=weather.function, parameters=weather.parameters)
    done = outcome(renamed, '{ city: Rome, days: "3" }')
    assert isinstance(done, Done)
    assert done.result == '{"city": "Rome", "days": 3, "unit": "c", "tags": []}'


@pytest.mark.parametrize(
    ("input", "told"),
    [
        ("{}", "missing required field `city`"),
        ("{ city: Rome, days: many }", "$.days"),
        ("{ city: Rome, unit: k }", "$.unit"),
        ("{ city: Rome, wind: 1 }", "unknown field `wind`"),
    ],
)
def test_an_input_that_does_not_fit_fails_the_state_and_says_where(input: str, told: str) -> None:
    renamed = HostTool(name="it", function=weather.function, parameters=weather.parameters)
    halted = outcome(renamed, input)
    assert isinstance(halted, Halted)
    assert halted.error.startswith("state-error: tool 'it': its input does not fit: ")
    assert told in halted.error


def test_what_a_call_costs_is_charged() -> None:
    done = outcome(HostTool(name="it", function=lambda _: "x", nano_usd=5))
    assert done.usage.nano_usd == 5
    assert done.trace[0].usage.nano_usd == 5


def test_a_tool_that_takes_too_long_fails_its_state_and_nothing_else() -> None:
    stuck = threading.Event()

    @tool(name="it", timeout=0.05)
    def hang() -> str:
        stuck.wait()
        return "late"

    halted = outcome(hang)
    stuck.set()
    assert isinstance(halted, Halted)
    assert halted.error == "state-error: tool 'it': no answer within 0.05 s; what it does may still have happened"

    @tool(name="it", effect="read", timeout=0.05)
    async def wait() -> str:
        await asyncio.Event().wait()
        return "late"

    assert outcome(wait).error == "state-error: tool 'it': no answer within 0.05 s"  # type: ignore[union-attr]


def test_a_timeout_that_a_tool_raises_is_its_own() -> None:
    def impatient(arguments: dict[str, Json]) -> str:
        raise TimeoutError("the lift")

    assert outcome(HostTool(name="it", function=impatient)).error == "state-error: tool 'it': TimeoutError: the lift"  # type: ignore[union-attr]


@pytest.mark.rule("W37")
@pytest.mark.parametrize("error", [SystemExit("bye"), KeyboardInterrupt(), GeneratorExit("x"), BaseException("odd")])
def test_a_tool_that_tries_to_end_the_program_fails_its_state(error: BaseException) -> None:
    def leave(arguments: dict[str, Json]) -> str:
        raise error

    halted = outcome(HostTool(name="it", function=leave))
    assert isinstance(halted, Halted)
    assert type(error).__name__ in halted.error


def test_what_a_tool_does_is_its_own_word_and_not_its_names() -> None:
    mine = ToolRegistry({"search": lambda _: "", "seek": HostTool(name="seek", function=str, effect=Effect.READ)})
    assert mine.effects == {"search": Effect.EFFECT, "seek": Effect.READ}
    assert ToolRegistry().effects == {}


def test_a_structured_observation_is_read_by_path_where_the_host_says_so() -> None:
    text = """\
machine: m
entry: call
budget: 3
states:
  call: { tool: it, output: seen, gates: [{ when: otherwise, then: ok, to: again }] }
  again: { tool: it, input: { what: "{{seen.facts}}" }, output: seen, gates: [{ when: otherwise, then: ok, to: END }] }
"""
    got: list[Json] = []

    def facts(arguments: Mapping[str, Json]) -> dict[str, Json]:
        got.append(arguments.get("what"))
        return {"facts": ["a", "b"]}

    registry = ToolRegistry({"it": facts})
    machine = machine_from_text(text, "m.mkl")
    run(machine, oracle=OnlyTools(registry))
    done = run(machine, oracle=OnlyTools(registry), options=RunOptions(structured_tools=frozenset({"it"})))
    assert got == [None, "", None, ["a", "b"]]
    assert isinstance(done, Done)
    assert done.result == {"facts": ["a", "b"]}
    assert done.trace[0].output == '{"facts": ["a", "b"]}'


@pytest.mark.parametrize("text", ["5", '"x"', "{", '{"a": 1, "a": 2}', "[" * 300 + "]" * 300, "[NaN]"])
def test_an_observation_that_is_no_map_or_list_stays_text(text: str) -> None:
    options = RunOptions(structured_tools=frozenset({"it"}))
    done = outcome(HostTool(name="it", function=lambda _: text), options=options)
    assert isinstance(done, Done)
    assert done.result == text


def test_egress_is_treated_with_the_care_of_an_effect() -> None:
    machine = machine_from_text(
        MACHINE.format(input='{ q: "{{secret}}" }').replace("states:", "context: { secret: '' }\nstates:"), "m"
    )
    registry = ToolRegistry([HostTool(name="it", function=lambda _: "x", effect=Effect.EGRESS)])
    oracle = OnlyTools(registry)
    done = run(machine, {"secret": "s"}, oracle=oracle, options=RunOptions(tool_effects=registry.effects))
    assert done.trace[0].tainted_arguments == ("q",)
    assert oracle.effects == [Effect.EGRESS]
    assert registry.repeatable >= {"it", "calc"}


def star(*cities: str) -> str:
    return ""


def unreadable(where: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
    return ""


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: tool(star), "has no name"),
        (lambda: tool(unreadable), "unknown"),
        (lambda: tool(effect="reed")(lambda x: x), "read, egress, effect"),
        (lambda: tool(timeout=0)(lambda x: x), "above 0"),
        (lambda: tool(usd_per_call=-1)(lambda x: x), "less than nothing"),
        (lambda: HostTool(name="", function=str), "not empty"),
        (lambda: HostTool(name="x", function=5), "cannot be called"),  # type: ignore[arg-type]
        (lambda: ToolRegistry([weather, weather]), "two tools called 'weather'"),
        (lambda: ToolRegistry([str]), "@mklang.tool"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_a_tool_is_refused_when_it_is_made(make: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make()


def test_a_function_may_take_the_whole_map_and_the_key() -> None:
    @tool
    def whole(arguments: Mapping[str, Json], idempotency_key: str) -> str:
        return f"{sorted(arguments)} {idempotency_key}"

    request = Tool(
        key="k", state="s", name="whole", input={"b": 1, "a": 2}, effect=Effect.EFFECT, idempotency_key="once"
    )
    assert asyncio.run(ToolRegistry([whole]).answer(request)).text == "['a', 'b'] once"
    with pytest.raises(ToolFailed, match="does not fit"):
        asyncio.run(ToolRegistry({"whole": weather}).answer(request))
