"""For random machines, answers and finishing orders: a replay equals the run, from any point, and sums are exact."""

from __future__ import annotations

import asyncio
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from mklang.durable.journal import Begin, create_journal, open_journal, read_journal
from mklang.durable.service import conclude, describe, settle_outcome
from mklang.engine.options import RunOptions
from mklang.engine.outcome import Done, Outcome, Suspended, to_wire
from mklang.engine.requests import (
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    Observation,
    Produce,
    Produced,
    Reply,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.engine.run import arun
from mklang.errors import ProviderFailed, Refused
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_mapping
from mklang.oracles.journaled import JournaledOracle
from mklang.oracles.replayed import ReplayedOracle

NAMES = ["a", "b", "c", "d"]
TARGETS = st.sampled_from([*NAMES, "END"])
CHILD = machine_from_mapping(
    {
        "machine": "child",
        "entry": "s",
        "budget": 4,
        "context": {"x": ""},
        "states": {
            "s": {
                "structure": "a word",
                "prompt": "{{x}}",
                "output": "o",
                "gates": [
                    {"when": "again", "repair": 1, "to": "s"},
                    {"when": "otherwise", "then": "ok", "to": "END"},
                ],
            }
        },
    }
)


@st.composite
def gates(draw: st.DrawFn) -> list[dict[str, object]]:
    policies = st.sampled_from(["ok", "repair", "escalate", "hook"])
    drawn: list[dict[str, object]] = []
    for number, policy in enumerate(draw(st.lists(policies, max_size=3))):
        gate: dict[str, object] = {"when": f"condition {number}", "to": draw(TARGETS)}
        drawn.append(gate)
        match policy:
            case "repair":
                gate["repair"] = draw(st.integers(1, 2))
            case "escalate":
                gate["escalate"] = True
            case "hook":
                gate |= {"hook": "some_hook", "then": "ok"}
            case _:
                gate["then"] = "ok"
    return [*drawn, {"when": "otherwise", "then": "ok", "to": draw(TARGETS)}]


@st.composite
def states(draw: st.DrawFn, name: str) -> dict[str, object]:
    source = draw(st.sampled_from([*NAMES, "items"]))
    state: dict[str, object] = {"output": name, "gates": draw(gates())}
    match draw(st.sampled_from(["generative", "tool", "call"])):
        case "generative":
            state |= {"structure": "a word", "prompt": f"{name} uses {{{{{source}}}}}"}
        case "tool":
            state |= {"tool": draw(st.sampled_from(["calc", "send"])), "input": {"x": f"{{{{{source}}}}}"}}
        case _:
            state |= {"call": "child", "input": {"x": f"{{{{{source}}}}}"}}
    spread = draw(st.sampled_from([None, "over", "sample"]))
    if spread == "over":
        state["over"] = "{{items}}"
    elif spread == "sample":
        state["sample"] = 2
    if draw(st.booleans()):
        state["accumulate"] = True
    return state


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    return machine_from_mapping(
        {
            "machine": "random",
            "entry": "a",
            "budget": 14,
            "context": {"items": ["one", "two", "three"]},
            "states": {name: draw(states(name)) for name in NAMES},
        }
    )


class Chance:
    """Answers that depend on the question alone, in an order that depends on ``order``; can break off for good."""

    def __init__(self, salt: int, order: int, *, break_at: int | None = None) -> None:
        self.salt = salt
        self.order = order
        self.left = break_at
        self.bill = Usage()

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Nonce):
            return NonceValue("a-seed")
        for _ in range(self._draw(request.key, self.order) % 4):
            await asyncio.sleep(0)
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise asyncio.CancelledError
        return self._answer(request)

    def _draw(self, *what: object) -> int:
        return int.from_bytes(blake2b(repr((self.salt, what)).encode(), digest_size=4).digest())

    def _answer(self, request: Request) -> Answer:
        chance = self._draw(request.key)
        match request:
            case Produce():
                if chance % 7 == 0:
                    self.bill = self.bill + Usage(chance % 11, chance % 3, chance % 5)
                    raise ProviderFailed("no route", **asdict(Usage(chance % 11, chance % 3, chance % 5)))
                answer: Answer = Produced(text=f"text {chance % 5}", usage=Usage(chance % 50, chance % 9))
            case Judge():
                index = chance % (len(request.conditions) + 1)
                if chance % 11 == 0:
                    self.bill = self.bill + Usage(chance % 13, 2)
                    raise Refused("no", input_tokens=chance % 13, output_tokens=2)
                answer = Verdict(index=None if index == len(request.conditions) else index, usage=Usage(chance % 5, 1))
            case Tool():
                answer = Observation(text=f"seen {chance % 3}")
            case Hook():
                answer = HookValue(chance % 2 == 0)
            case Ask():
                answer = Reply(values={request.reply_to: chance % 2 == 0}, confirms=chance % 2 == 0)
            case Nonce():
                answer = NonceValue("a-seed")
        if isinstance(answer, Produced | Verdict):
            self.bill = self.bill + answer.usage
        return answer


OPTIONS = RunOptions(humans=True)


def run(machine: Machine, oracle: Any) -> Outcome:
    return asyncio.run(arun(machine, oracle=oracle, library={"child": CHILD}, options=OPTIONS))


@given(machine=machines(), salt=st.integers(0, 10**6), order=st.integers(0, 10**6))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.rule("L36", "L56", "L57")
def test_the_order_in_which_answers_come_changes_nothing(machine: Machine, salt: int, order: int) -> None:
    first, second = Chance(salt, order), Chance(salt, order + 1)
    one, two = run(machine, first), run(machine, second)
    assert to_wire(one) == to_wire(two)
    assert one.usage == first.bill == second.bill


@given(machine=machines(), salt=st.integers(0, 10**6), break_at=st.integers(0, 30))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.rule("L81", "L86")
def test_broken_off_anywhere_and_taken_up_again_a_run_ends_the_same(machine: Machine, salt: int, break_at: int) -> None:
    whole = run(machine, Chance(salt, 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        begin = Begin(
            format=1, run="r", created=0.0, mklang="0", machines=describe(machine, {"child": CHILD}), inputs={}
        )
        journal = create_journal(path, begin, sync=False)
        try:
            run(machine, JournaledOracle(Chance(salt, 1, break_at=break_at), journal, clock=lambda: 0.0))
        except asyncio.CancelledError:
            pass
        journal.close()
        for _ in range(20):
            journal = open_journal(path, sync=False)
            for intent in journal.unknown_outcomes:
                settle_outcome(journal, "again", key=intent.key)
            outcome = run(machine, JournaledOracle(Chance(salt, 2), journal, clock=lambda: 0.0))
            if isinstance(outcome, Suspended):
                journal.close()
                continue
            conclude(journal, outcome, at=0.0)
            journal.close()
            break
        assert to_wire(outcome) == to_wire(whole)
        if isinstance(outcome, Done):
            assert to_wire(run(machine, ReplayedOracle(read_journal(path)))) == to_wire(whole)
