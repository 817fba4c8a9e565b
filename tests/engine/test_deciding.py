"""One decision without the run around it is the decision a run would make."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.engine.deciding import Decided, decide
from mklang.engine.options import DEFAULT_OPTIONS, OnUncertain, RunOptions
from mklang.engine.outcome import Done, Halted
from mklang.engine.requests import Hook, HookValue, Judge, Produced, Read, Usage, Verdict
from mklang.errors import HookFailed, ProviderFailed
from mklang.lang.models import Tier
from mklang.lang.reader import machine_from_text
from tests.engine.worlds import World, play

pytestmark = pytest.mark.rule("L56", "L57")
WHOLE = RunOptions(whole_decisions=frozenset(Tier))


def document(*gates: dict[str, Any], **state: Any) -> str:
    body = {"structure": "s", "prompt": "p", "output": "o", "gates": [*gates], **state}
    end = {"structure": "s", "prompt": "p", "output": "e", "gates": [gate("otherwise")]}
    return json.dumps({"machine": "m", "entry": "a", "budget": 9, "states": {"a": body, "b": end}})


def gate(when: str, **more: Any) -> dict[str, Any]:
    return {"when": when, "then": "ok", "to": "END", **more}


def decided(text: str, world: World, *texts: str, options: RunOptions = DEFAULT_OPTIONS, **inputs: Any) -> Decided:
    machine = machine_from_text(text)
    state = machine.states["a"]
    return asyncio.run(decide(machine, state, texts or ("said",), oracle=world, inputs=inputs, options=options))


@settings(deadline=None)
@given(
    kinds=st.lists(st.sampled_from(["prose", "hook"]), min_size=1, max_size=5),
    picks=st.lists(st.integers(-1, 4), min_size=5, max_size=5),
    holds=st.lists(st.booleans(), min_size=5, max_size=5),
    catch_all=st.booleans(),
    whole=st.booleans(),
)
def test_it_decides_as_the_run_does(
    kinds: list[str], picks: list[int], holds: list[bool], catch_all: bool, whole: bool
) -> None:
    gates = [gate(f"c{n}", **({"hook": f"h{n}"} if kind == "hook" else {})) for n, kind in enumerate(kinds)]
    text = document(*gates, *([gate("otherwise")] if catch_all else []))

    def world() -> World:
        left = iter(picks)

        def judge(request: Judge) -> Verdict:
            pick = next(left)
            if whole:
                chances = tuple(0.9 if number >= pick >= 0 else 0.1 for number in range(len(request.conditions)))
                told: dict[str, Any] = {"mapping": "noul_first_ge", "threshold": 0.5, "probabilities": chances}
                return Verdict(index=None, method="noul_first_ge", model="m", **told)
            return Verdict(index=pick if 0 <= pick < len(request.conditions) else None, model="m")

        return World(
            produce=lambda _: Produced(text="said"),
            judge=judge,
            hook=lambda request: HookValue(holds[int(request.name[1:])]),
        )

    options = WHOLE if whole else DEFAULT_OPTIONS
    ran = play(text, world(), options=options)
    alone = decided(text, world(), options=options)
    if isinstance(ran, Done):
        assert alone.gate is not None
        assert (alone.gate.when, alone.step.gate_via) == (ran.trace[0].gate, ran.trace[0].gate_via)
        assert alone.step.judgements == ran.trace[0].judgements
    else:
        assert isinstance(ran, Halted)
        assert (alone.gate, alone.error) == (None, ran.error)


def test_nothing_but_hooks_and_the_judge_is_asked_and_they_see_what_a_run_shows_them() -> None:
    world = World(hook=lambda _: HookValue(False), judge=lambda _: Verdict(index=0, model="m", usage=Usage(5, 1)))
    found = decided(document(gate("x", hook="h"), gate("c")), world, "said", topic="tea")
    hook, judge = world.asked
    assert isinstance(hook, Hook)
    assert isinstance(judge, Judge)
    assert (hook.output, dict(hook.context)) == ("said", {"topic": "tea", "o": "said"})
    assert (judge.output, judge.context) == ("said", '{"topic": "tea", "o": "said"}')
    assert found.hooks == {0: False}
    assert [one.chosen for one in found.judgements] == [1]
    assert (found.step.output, found.step.to, found.step.usage) == ("said", "END", Usage(5, 1))
    assert found.step.decision_tainted


def test_parse_is_applied_and_what_cannot_be_parsed_halts() -> None:
    text = document(gate("x", hook="h"), gate("otherwise"), parse="json")
    world = World(hook=lambda _: HookValue(True))
    found = decided(text, world, '{"a": 1}')
    (asked,) = world.asked
    assert isinstance(asked, Hook)
    assert asked.output == {"a": 1}
    assert found.step.output == '{"a": 1}'
    broken = decided(text, world, '{"a": ')
    assert broken.gate is None
    assert (broken.error or "").startswith("state-error: parse-json: output is not valid JSON")


def test_a_fan_out_takes_a_text_for_each_branch() -> None:
    world = World()
    found = decided(document(gate("c"), gate("otherwise"), sample=3), world, "one", "two")
    (judge,) = world.asked
    assert isinstance(judge, Judge)
    assert judge.output == "1. one\n2. two"
    assert found.step.branches == ["one", "two"]


def test_a_tool_states_text_is_its_observation() -> None:
    state = {"tool": "t", "output": "o", "gates": [gate("c"), gate("otherwise")]}
    text = json.dumps({"machine": "m", "entry": "a", "budget": 9, "states": {"a": state}})
    found = decided(text, World())
    assert found.gate is not None
    assert found.step.decision_tainted


@pytest.mark.parametrize(
    ("handlers", "error"),
    [
        ({"judge": lambda _: Verdict(index=None, read=Read.UNREAD, raw="hm", model="m")}, "judge-unparseable"),
        ({"judge": lambda _: Verdict(index=None, model="m")}, "no-gate-matched"),
    ],
)
def test_where_a_run_would_halt_the_reason_is_said(handlers: Any, error: str) -> None:
    found = decided(document(gate("c")), World(**handlers))
    assert (found.gate, found.error) == (None, error)
    assert len(found.judgements) == 1


@pytest.mark.parametrize(
    ("failed", "error"),
    [
        (ProviderFailed("no answer", input_tokens=4), "provider-error: no answer"),
        (HookFailed("boom"), "state-error: boom"),
    ],
)
def test_a_failure_is_a_halt_with_its_cost(failed: Exception, error: str) -> None:
    def fail(_: object) -> Verdict:
        raise failed

    found = decided(document(gate("c")), World(judge=fail))
    assert found.error == error
    assert found.step.usage.input_tokens == getattr(failed, "input_tokens", 0)


@pytest.mark.rule("S28")
def test_in_doubt_the_question_to_a_person_is_in_the_answer() -> None:
    def doubtful(request: Judge) -> Verdict:
        told: dict[str, Any] = {"mapping": "noul_first_ge", "threshold": 0.5, "probabilities": (0.51,), "band": 0.1}
        return Verdict(index=0, method="noul_first_ge", model="m", **told)

    options = RunOptions(whole_decisions=frozenset(Tier), on_uncertain=OnUncertain.ASK)
    found = decided(document(gate("c"), gate("otherwise")), World(judge=doubtful), options=options)
    assert found.gate is None
    assert found.ask is not None
    assert found.ask.choices == ("0", "1")
    assert found.judgements[0].uncertain
