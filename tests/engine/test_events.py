"""What a run says while it runs: every event by its keys, and that listening changes nothing (L116)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mklang.engine.events import AnyEvent, RunFinished, RunStart, StateDone, to_wire
from mklang.engine.options import RunOptions
from mklang.engine.outcome import Outcome
from mklang.engine.outcome import to_wire as outcome_wire
from mklang.engine.requests import NotYet, Observation, Produced, Usage, Verdict
from mklang.engine.run import arun
from mklang.errors import ProviderFailed
from mklang.lang.reader import machine_from_text
from tests.engine.worlds import World

pytestmark = pytest.mark.rule("L116", "W62")

ROOT = """
machine: root
entry: write
budget: 9
context: { items: [a, b], outside: "" }
states:
  write:
    structure: a line
    prompt: "{{outside}}"
    output: line
    gates: [{ when: it is fine, then: ok, to: each }]
  each:
    call: helper
    over: "{{items}}"
    input: { item: "{{item}}" }
    output: parts
    gates: [{ when: otherwise, then: ok, to: send }]
  send:
    tool: send_reply
    input: { body: x }
    output: sent
    gates: [{ when: otherwise, escalate: true, to: write, ask: Fine? }]
"""
HELPER = """
machine: helper
entry: look
budget: 3
context: { item: "" }
states:
  look:
    structure: a line
    prompt: "{{item}}"
    output: seen
    gates: [{ when: otherwise, then: ok, to: END }]
"""
WHO = {"type", "machine", "depth", "run_id"}
KEYS = {
    "run-start": {"entry", "limits", "resumed"},
    "state-start": {"state", "step", "kind", "tier"},
    "model-asked": {"state", "key", "operation", "tier"},
    "judged": {"state", "gates", "model", "mapping", "chosen", "produce_hash", "tokens"},
    "branch-done": {"state", "index", "tokens"},
    "untrusted-control-flow": {"state", "tool", "policy"},
    "state-done": {"state", "step", "gate", "policy", "to"},
    "run-finished": {"status", "error", "at", "tokens", "limits"},
}
MORE = {"state-done": {"tokens", "output", "branches", "truncated", "finish_reason", "error"}, "branch-done": {"error"}}


def told(
    world: World, inputs: Mapping[str, Any] | None = None, options: RunOptions | None = None
) -> tuple[Outcome, list[AnyEvent]]:
    """A run of the root, and what it said."""
    heard: list[AnyEvent] = []
    library = {"helper": machine_from_text(HELPER)}
    machine, options = machine_from_text(ROOT), options or RunOptions()
    run = arun(machine, inputs or {}, oracle=world, library=library, options=options, observer=heard.append)
    return asyncio.run(run), heard


def world(**handlers: Any) -> World:
    return World(
        **{
            "produce": lambda _: Produced(text="x" * 300, usage=Usage(3, 2)),
            "judge": lambda _: Verdict(index=0, usage=Usage(1, 0)),
            "tool": lambda _: Observation(text="sent"),
            "ask": lambda _: NotYet(question=""),
            **handlers,
        }
    )


def test_every_event_says_who_speaks_and_has_the_keys_of_its_type() -> None:
    _, heard = told(world(), {"outside": "y"}, RunOptions(humans=True))
    wires = [to_wire(event) for event in heard]
    assert {wire["type"] for wire in wires} == KEYS.keys()
    for wire in wires:
        kind = str(wire["type"])
        below = {"parent_run_id"} if wire["depth"] else set()
        assert WHO | below | KEYS[kind] <= wire.keys() <= WHO | below | KEYS[kind] | MORE.get(kind, set())
        assert wire["machine"] == ("helper" if wire["depth"] else "root")


def test_each_run_of_a_machine_has_an_id_of_its_own_and_names_its_callers() -> None:
    _, heard = told(world(), options=RunOptions(humans=True))
    starts = [event for event in heard if isinstance(event, RunStart)]
    root, *callees = starts
    assert [event.machine for event in starts] == ["root", "helper", "helper"]
    assert len({event.run_id for event in starts}) == 3
    assert {event.parent_run_id for event in callees} == {root.run_id}
    assert all(len(event.run_id) == 32 for event in starts)
    again = told(world(), options=RunOptions(humans=True))[1]
    assert [event.run_id for event in again] == [event.run_id for event in heard]


def test_a_state_is_done_once_for_each_step_with_a_preview_of_its_output() -> None:
    outcome, heard = told(world(), options=RunOptions(humans=True))
    done = [event for event in heard if isinstance(event, StateDone) and event.depth == 0]
    assert [(event.state, event.step, event.to) for event in done] == [
        (step.state, step.step, step.to) for step in outcome.trace
    ]
    first, second, _ = map(to_wire, done)
    assert first["output"] == "x" * 199 + "…"
    assert first["tokens"] == {"input_tokens": 4, "output_tokens": 2}
    assert (second["branches"], "output" in second) == (2, False)
    assert "tokens" not in to_wire(done[2])


def test_a_cut_text_and_a_failure_are_told() -> None:
    cut = world(produce=lambda _: Produced(text="x", truncated=True, finish_reason="length"))
    done = to_wire(next(event for event in told(cut)[1] if isinstance(event, StateDone)))
    assert (done["truncated"], done["finish_reason"]) == (True, "length")

    def fail(_: object) -> Produced:
        raise ProviderFailed("no route")

    failed = to_wire(next(event for event in told(world(produce=fail))[1] if isinstance(event, StateDone)))
    assert (failed["error"], failed["gate"], failed["to"]) == ("provider-error: no route", None, None)


def test_limits_count_this_machines_steps_and_the_whole_runs_tokens() -> None:
    outcome, heard = told(world(), options=RunOptions(humans=True, max_tokens=99, max_nano_usd=5))
    starts = [to_wire(event) for event in heard if isinstance(event, RunStart)]
    assert starts[0]["limits"] == {
        "steps": {"used": 0, "limit": 9, "remaining": 9},
        "tokens": {"used": 0, "limit": 99, "remaining": 99, "input": 0, "output": 0},
        "usd": {"used": 0, "limit": 5e-9, "remaining": 5e-9},
    }
    callee: Any = starts[1]["limits"]
    assert callee["steps"] == {"used": 0, "limit": 3, "remaining": 3}
    assert callee["tokens"]["used"] == 6
    (finished,) = [to_wire(event) for event in heard if isinstance(event, RunFinished) and event.depth == 0]
    assert finished["limits"] == outcome_wire(outcome)["limits"]
    assert (finished["status"], finished["error"], finished["at"]) == ("suspended", "escalated", "write")


def test_a_callee_that_waits_says_nothing_of_an_end() -> None:
    waiting = HELPER.replace("otherwise, then: ok, to: END }]", "it is fine, escalate: true, to: look }]")
    heard: list[AnyEvent] = []
    library = {"helper": machine_from_text(waiting)}
    options = RunOptions(humans=True)
    asyncio.run(arun(machine_from_text(ROOT), oracle=world(), library=library, options=options, observer=heard.append))
    assert [event.machine for event in heard if isinstance(event, RunFinished)] == ["root"]


def test_an_observer_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: AnyEvent) -> None:
        raise RuntimeError("not my day")

    library = {"helper": machine_from_text(HELPER)}
    outcomes = [
        asyncio.run(arun(machine_from_text(ROOT), oracle=world(), library=library, observer=observer))
        for observer in (None, fail)
    ]
    assert outcome_wire(outcomes[0]) == outcome_wire(outcomes[1])
    assert "an observer failed on RunStart" in caplog.text
