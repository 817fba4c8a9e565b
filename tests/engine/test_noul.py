"""Probabilities are walked by code, in gate order: the first that reaches the threshold, never the greatest."""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.engine.events import AnyEvent, Judged, to_wire
from mklang.engine.options import OnUncertain, RunOptions
from mklang.engine.outcome import Done, Halted, Outcome, Suspended
from mklang.engine.requests import HookValue, Judge, Produced, Read, Reply, Usage, Verdict
from mklang.engine.run import arun
from mklang.lang.models import Tier
from mklang.lang.reader import machine_from_text
from tests.engine.worlds import World, play

pytestmark = [pytest.mark.rule("S20", "S22", "S23"), pytest.mark.rule("L57")]
WHOLE = RunOptions(whole_decisions=frozenset(Tier))


def machine(kinds: list[str], *, catch_all: bool = True) -> str:
    gates: list[dict[str, object]] = []
    for number, kind in enumerate(kinds):
        gate: dict[str, object] = {"when": f"condition {number}", "then": "ok", "to": "END"}
        gates.append(gate | ({"hook": f"hook{number}"} if kind == "hook" else {}))
    if catch_all or not gates:
        gates.append({"when": "otherwise", "then": "ok", "to": "END"})
    state = {"structure": "s", "prompt": "p", "output": "o", "gates": gates}
    return json.dumps({"machine": "m", "entry": "a", "budget": 3, "states": {"a": state}})


def judge(probabilities: list[float], threshold: float = 0.5, **more: Any) -> Any:
    def answer(request: Judge) -> Verdict:
        return Verdict(
            index=None,
            method="noul_first_ge",
            mapping="noul_first_ge",
            probabilities=tuple(probabilities[: len(request.conditions)]),
            threshold=threshold,
            usage=Usage(10, 1),
            model="jev-1",
            **more,
        )

    return answer


def decide(kinds: list[str], world: World, **more: Any) -> Outcome:
    return play(machine(kinds, **more), world, options=WHOLE)


Row: TypeAlias = tuple[str, float, bool]
"""A gate's kind, the probability a judge gives it, and what a hook says of it."""
ROW = st.tuples(st.sampled_from(["prose", "hook"]), st.floats(0, 1), st.booleans())


def walked(rows: list[Row], threshold: float) -> tuple[Outcome, World]:
    """How a decision over these gates ends, and who was asked."""
    chances = {f"condition {number}": p for number, (_, p, _) in enumerate(rows)}
    holds = {f"hook{number}": value for number, (_, _, value) in enumerate(rows)}
    world = World(
        judge=lambda request: judge([chances[text] for text in request.conditions], threshold)(request),
        hook=lambda request: HookValue(holds[request.name]),
    )
    return decide([kind for kind, _, _ in rows], world), world


@settings(deadline=None)
@given(
    rows=st.lists(ROW, max_size=6),
    threshold=st.floats(0, 1),
)
def test_the_gate_that_fires_is_the_first_true_one(rows: list[Row], threshold: float) -> None:
    expected = "otherwise"
    for number, (kind, p, value) in enumerate(rows):
        if value if kind == "hook" else p >= threshold:
            expected = f"condition {number}"
            break
    outcome, world = walked(rows, threshold)
    assert isinstance(outcome, Done)
    assert outcome.trace[0].gate == expected
    assert sum(isinstance(request, Judge) for request in world.asked) <= 1
    if expected == "otherwise" and any(kind == "prose" for kind, _, _ in rows):
        assert outcome.trace[0].judge_none == 1


@settings(deadline=None)
@given(
    rows=st.lists(ROW, min_size=1, max_size=5),
    later=st.lists(ROW, min_size=1, max_size=3),
    threshold=st.floats(0, 1),
)
def test_later_conditions_never_change_an_earlier_choice(rows: list[Row], later: list[Row], threshold: float) -> None:
    before, after = (walked(some, threshold)[0].trace[0].gate for some in (rows, [*rows, *later]))
    assert before in {"otherwise", after}


def test_the_greatest_probability_does_not_win_over_an_earlier_one_that_is_enough() -> None:
    outcome = decide(["prose", "prose"], World(judge=judge([0.55, 0.99])))
    assert outcome.trace[0].gate == "condition 0"


def test_hooks_between_prose_gates_do_not_cost_a_second_call_and_are_asked_only_when_reached() -> None:
    world = World(judge=judge([0.1, 0.9]), hook=lambda _: HookValue(False))
    outcome = decide(["prose", "hook", "prose", "hook"], world)
    assert outcome.trace[0].gate == "condition 2"
    assert [key.split("/")[1] for key in world.keys] == ["produce", "judge[0]", "hook[1]"]


def test_a_hook_that_fires_first_costs_no_judgement() -> None:
    world = World(hook=lambda _: HookValue(True))
    decide(["hook", "prose"], world)
    assert not any(isinstance(request, Judge) for request in world.asked)


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(index=0, model="m"),
        Verdict(index=0, mapping="noul_first_ge", threshold=0.5, probabilities=(0.9,), model="m"),
        Verdict(index=0, mapping="noul_first_ge", threshold=0.5, probabilities=(0.9, 1.2), model="m"),
        Verdict(index=0, mapping="noul_first_ge", threshold=0.5, probabilities=(0.9, float("nan")), model="m"),
        Verdict(index=None, read=Read.UNREAD, raw="hm", model="m"),
    ],
)
def test_a_pick_or_a_broken_probability_is_no_verdict(verdict: Verdict) -> None:
    outcome = decide(["prose", "prose"], World(judge=lambda _: verdict))
    assert outcome.trace[0].gate == "otherwise"
    assert outcome.trace[0].judge_fallback
    halted = decide(["prose", "prose"], World(judge=lambda _: verdict), catch_all=False)
    assert isinstance(halted, Halted)
    assert halted.error == "judge-unparseable"


@pytest.mark.rule("L62", "L63", "W32")
@pytest.mark.parametrize("options", [WHOLE, RunOptions()])
def test_an_unread_verdict_is_charged_and_recorded(options: RunOptions) -> None:
    unread = Verdict(index=None, read=Read.UNREAD, raw="I think " + "x" * 500, model="m", usage=Usage(10, 3))
    world = World(produce=lambda _: Produced(text="x", usage=Usage(1, 1)), judge=lambda _: unread)
    outcome = play(machine(["prose", "prose"]), world, options=options)
    step = outcome.trace[0]
    assert (step.usage, outcome.usage) == (Usage(11, 4), Usage(11, 4))
    assert (step.gate_via, step.judge_fallback, step.judge_model) == ("otherwise", True, "m")
    assert step.judge_raw == ("I think " + "x" * 500)[:200]


@pytest.mark.rule("S24")
@pytest.mark.parametrize(
    ("chances", "none", "how", "contradiction"),
    [
        ([0.1], 0.9, "asked", False),
        ([0.1], 0.2, "default", False),
        ([0.1], None, "default", False),
        ([0.9], 0.9, None, True),
    ],
)
def test_none_is_asked_for_and_used(
    chances: list[float], none: float | None, how: str | None, contradiction: bool
) -> None:
    outcome = decide(["prose"], World(judge=judge(chances, none_probability=none)))
    told = outcome.trace[0].judgements[0]
    assert (told.none, told.contradiction) == (how, contradiction)


@pytest.mark.rule("S28", "S29")
@pytest.mark.parametrize(("p", "doubt"), [(0.55, True), (0.45, True), (0.7, False), (0.2, False)])
def test_doubt_is_flagged_and_changes_no_order(p: float, doubt: bool) -> None:
    outcome = decide(["prose", "prose"], World(judge=judge([p, 0.99], band=0.1, provider="jev", fence_applied=True)))
    told = outcome.trace[0].judgements[0]
    assert told.uncertain is doubt
    assert outcome.trace[0].gate == f"condition {0 if p >= 0.5 else 1}"
    wire = outcome.trace[0].to_wire()
    assert wire["judge_mapping"] == "noul_first_ge"
    assert wire["noul_probs"] == [p, 0.99]
    assert wire["jev_threshold"] == 0.5
    assert wire["fence_applied"] is True


@pytest.mark.rule("S29", "L116")
def test_every_judgement_is_told_with_all_that_the_trace_keeps() -> None:
    heard: list[AnyEvent] = []
    told = judge([0.2, 0.8], band=0.1, none_probability=0.1, provider="jev", fence_applied=True, seconds=0.25)
    world = World(produce=lambda _: Produced(text="A fox."), judge=told)
    text = machine(["prose", "prose"])
    outcome = asyncio.run(arun(machine_from_text(text), oracle=world, options=WHOLE, observer=heard.append))
    (event,) = [one for one in heard if isinstance(one, Judged)]
    assert (event.judgement,) == outcome.trace[0].judgements
    wire = to_wire(event)
    assert wire == {
        "type": "judged",
        "machine": "m",
        "depth": 0,
        "run_id": event.run_id,
        "state": "a",
        "gates": [0, 1],
        "model": "jev-1",
        "mapping": "noul_first_ge",
        "chosen": 1,
        "provider": "jev",
        "threshold": 0.5,
        "band": 0.1,
        "probabilities": [0.2, 0.8],
        "none_probability": 0.1,
        "confidence": 0.8,
        "fence_applied": True,
        "seconds": 0.25,
        "tokens": {"input_tokens": 10, "output_tokens": 1},
        "produce_hash": outcome.trace[0].to_wire(hashes=True)["output_hash"],
    }


@pytest.mark.rule("S29")
def test_a_pick_whose_fences_were_checked_is_in_the_trace_too_and_a_bare_one_is_not() -> None:
    checked = play(machine(["prose"]), World(judge=lambda _: Verdict(index=0, model="m", fence_applied=True)))
    (told,) = checked.trace[0].judgements
    assert (told.mapping, told.chosen, told.fence_applied) == ("choice", 0, True)
    assert "noul_probs" not in checked.trace[0].to_wire()
    bare = play(machine(["prose"]), World(judge=lambda _: Verdict(index=0, model="m")))
    assert "judgements" not in bare.trace[0].to_wire()


@pytest.mark.rule("S28")
def test_in_doubt_a_person_chooses_the_gate_and_sees_the_probabilities() -> None:
    options = RunOptions(whole_decisions=frozenset(Tier), on_uncertain=OnUncertain.ASK)
    doubtful = judge([0.51, 0.99], band=0.1)
    waiting = play(machine(["prose", "prose"]), World(judge=doubtful), options=options)
    assert isinstance(waiting, Suspended)
    assert waiting.error == "uncertain"
    assert waiting.asks[0].choices == ("0", "1", "2")
    assert "p = 0.510" in waiting.asks[0].about
    chosen = World(judge=doubtful, ask=lambda _: Reply(values={"gate": 1}))
    done = play(machine(["prose", "prose"]), chosen, options=options)
    assert isinstance(done, Done)
    assert (done.trace[0].gate, done.trace[0].gate_via) == ("condition 1", "human")
    wrong = World(judge=doubtful, ask=lambda _: Reply(values={"gate": "maybe"}))
    halted = play(machine(["prose", "prose"]), wrong, options=options)
    assert isinstance(halted, Halted)
    assert "names no gate" in halted.error
