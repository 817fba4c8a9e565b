"""A limit is a limit: checked before the request, shared by branches and callees."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.options import RunOptions
from mklang.engine.outcome import Done, Halted, Reason, Suspended
from mklang.engine.requests import Produced, Request, Usage
from mklang.engine.run import arun
from mklang.errors import ProviderFailed, UsageError
from mklang.lang.reader import machine_from_text
from tests.engine.worlds import World, play

FAN = """
machine: fan
entry: map
budget: {budget}
context: {{items: []}}
states:
  map:
    structure: a word
    prompt: "Do {{{{item}}}}"
    over: "{{{{items}}}}"
    output: outs
    gates: [{{when: otherwise, then: ok, to: END}}]
"""


@pytest.mark.rule("L37", "W27")
def test_a_fan_out_wider_than_the_step_budget_runs_no_branch() -> None:
    world = World()
    outcome = play(FAN.format(budget=3), world, inputs={"items": list(range(200))})
    assert isinstance(outcome, Halted)
    assert outcome.error == "budget-exhausted"
    assert "200 steps" in outcome.message
    assert "3" in outcome.message
    assert world.asked == []


@pytest.mark.rule("L49")
def test_a_fan_out_wider_than_the_host_allows_runs_no_branch() -> None:
    world = World()
    options = RunOptions(max_fanout=10)
    outcome = play(FAN.format(budget=500), world, inputs={"items": list(range(11))}, options=options)
    assert isinstance(outcome, Halted)
    assert outcome.reason is Reason.FANOUT_LIMIT
    assert world.asked == []


@pytest.mark.rule("L65", "W27")
@pytest.mark.parametrize("slots", [1, 4])
def test_spending_stops_within_one_request_per_free_slot(slots: int) -> None:
    world = World()
    options = RunOptions(max_tokens=20, concurrency=slots)
    outcome = play(FAN.format(budget=500), world, inputs={"items": list(range(200))}, options=options)
    assert isinstance(outcome, Halted)
    assert outcome.error == "cost-exhausted"
    assert outcome.usage.total <= 20 + 5 * slots
    assert len(world.asked) <= 4 + slots


class Foreseen(World):
    """A world where what an answer can cost is known beforehand: ``most`` each, whatever it costs in the end."""

    def __init__(self, most: Usage, costs: list[Usage]) -> None:
        super().__init__(produce=lambda _: Produced(text="ok", usage=costs.pop()))
        self._most = most

    def most(self, request: Request, /) -> Usage:
        return self._most


@pytest.mark.rule("L65")
@given(
    costs=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    limit=st.integers(0, 200),
    slots=st.sampled_from([None, 1, 3]),
    money=st.booleans(),
)
def test_where_the_most_is_known_a_limit_is_never_passed_and_no_request_is_refused_that_fits(
    costs: list[int], limit: int, slots: int | None, money: bool
) -> None:
    def usage(amount: int) -> Usage:
        return Usage(1, 0, nano_usd=amount) if money else Usage(amount)

    world = Foreseen(usage(30), [usage(cost) for cost in reversed(costs)])
    options = RunOptions(**{"max_nano_usd" if money else "max_tokens": limit}, concurrency=slots)
    outcome = play(FAN.format(budget=50), world, inputs={"items": list(range(len(costs)))}, options=options)
    spent = outcome.usage.nano_usd if money else outcome.usage.total
    assert spent <= limit
    fits = all(sum(costs[:count]) + 30 <= limit for count in range(len(costs)))
    assert isinstance(outcome, Done) is fits
    if not fits:
        assert isinstance(outcome, Halted)
        assert outcome.error == "cost-exhausted"


def test_what_can_cost_more_than_is_left_is_not_asked_and_says_so() -> None:
    world = Foreseen(Usage(100, 4096), [])
    options = RunOptions(max_tokens=4000)
    outcome = play(FAN.format(budget=5), world, inputs={"items": ["a"]}, options=options)
    assert isinstance(outcome, Halted)
    assert (outcome.error, world.asked) == ("cost-exhausted", [])
    assert outcome.message == "the next request can use 4196 tokens, and 4000 of 4000 are left"
    paid = Foreseen(Usage(1, nano_usd=2_000_000), [])
    dear = play(FAN.format(budget=5), paid, inputs={"items": ["a"]}, options=RunOptions(max_nano_usd=1_500_000))
    assert isinstance(dear, Halted)
    assert dear.message == "the next request can cost $0.002000, and $0.001500 of $0.001500 is left"


@pytest.mark.parametrize("slots", [1, 2, 6, None])
def test_every_item_gets_its_result_and_no_more_run_at_once_than_allowed(slots: int | None) -> None:
    world = World(produce=lambda request: Produced(text=request.user))
    options = RunOptions(concurrency=slots)
    outcome = play(FAN.format(budget=500), world, inputs={"items": [str(n) for n in range(6)]}, options=options)
    assert isinstance(outcome, Done)
    assert len(outcome.result) == 6
    assert all(str(n) in text for n, text in enumerate(outcome.result))
    assert world.most_in_flight == (slots or 6)


NESTED = """
machine: outer
entry: go
budget: 9
context: {items: [a, b, c]}
states:
  go:
    call: inner
    over: "{{items}}"
    input: {item: "{{item}}"}
    output: outs
    gates: [{when: otherwise, then: ok, to: END}]
"""
INNER = """
machine: inner
entry: s
budget: 5
context: {item: ""}
states:
  s:
    structure: a word
    prompt: "{{item}}"
    output: o
    gates: [{when: it is done, then: ok, to: END}]
"""


def test_usage_of_branches_callees_and_judges_adds_up_exactly() -> None:
    world = World()
    outcome = play(NESTED, world, callees={"inner": INNER})
    assert isinstance(outcome, Done)
    assert outcome.usage == Usage(3 * 4, 3 * 3)
    assert outcome.trace[0].usage == outcome.usage
    assert sorted(world.keys) == [f"1:go[{n}]/call/1:s/{what}" for n in range(3) for what in ("judge[0]", "produce")]


def test_one_limiter_holds_across_callees() -> None:
    world = World()
    play(NESTED, world, callees={"inner": INNER}, options=RunOptions(concurrency=1))
    assert world.most_in_flight == 1


@pytest.mark.rule("L81")
def test_a_limit_suspends_where_the_host_wants_to_go_on_later() -> None:
    options = RunOptions(max_tokens=4, suspend_on_limit=True)
    outcome = play(NESTED, World(), callees={"inner": INNER}, options=options)
    assert isinstance(outcome, Suspended)
    assert outcome.reason is Reason.COST_EXHAUSTED


@pytest.mark.rule("L50", "W28")
def test_a_failed_branch_is_a_marker_and_a_typed_error_and_all_failed_is_a_halt() -> None:
    def produce(request: object) -> Produced:
        if "bad" in request.user:  # type: ignore[attr-defined]
            raise ProviderFailed("no route")
        return Produced(text="fine")

    outcome = play(FAN.format(budget=9), World(produce=produce), inputs={"items": ["good", "bad", "good"]})
    assert isinstance(outcome, Done)
    assert outcome.result == ["fine", "[branch-error: provider-error: no route]", "fine"]
    assert [(e.index, e.kind) for e in outcome.trace[0].branch_errors] == [(1, "provider-error")]

    strict = RunOptions(max_failed_branches=0)
    mixed = {"items": ["good", "bad", "good"]}
    halted = play(FAN.format(budget=9), World(produce=produce), inputs=mixed, options=strict)
    assert isinstance(halted, Halted)
    assert halted.reason is Reason.BRANCHES_FAILED

    lost = play(FAN.format(budget=9), World(produce=produce), inputs={"items": ["bad", "bad"]})
    assert isinstance(lost, Halted)
    assert lost.error.startswith("branches-failed: 2 of 2")
    assert lost.trace[0].policy == "branches-failed"


@pytest.mark.rule("L50")
def test_what_concerns_the_whole_run_ends_a_fan_out_from_inside_a_callee_too() -> None:
    outcome = play(NESTED, World(), callees={"inner": INNER}, options=RunOptions(max_tokens=9, concurrency=1))
    assert isinstance(outcome, Halted)
    assert outcome.error == "call-failed: cost-exhausted"
    assert outcome.trace[0].branches is not None


@pytest.mark.parametrize("bad", [{"max_steps": 0}, {"concurrency": 0}, {"max_tokens": -1}, {"value_chars": True}])
def test_an_option_out_of_range_is_refused_at_once(bad: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="allowed is"):
        RunOptions(**bad)  # type: ignore[arg-type]


def _fails_with_a_cost(request: object) -> Produced:
    raise ProviderFailed("the model thought and wrote nothing", input_tokens=10, output_tokens=64, nano_usd=5)


@pytest.mark.rule("W31", "L65")
def test_a_failed_request_is_charged_once_wherever_it_failed() -> None:
    bill = Usage(10, 64, 5)
    single = play(INNER, World(produce=_fails_with_a_cost))
    called = play(NESTED, World(produce=_fails_with_a_cost), callees={"inner": INNER})
    fanned = play(FAN.format(budget=9), World(produce=_fails_with_a_cost), inputs={"items": ["a", "b"]})
    judged = play(INNER, World(judge=_fails_with_a_cost))
    assert [outcome.usage for outcome in (single, called, fanned, judged)] == [
        bill, Usage(30, 192, 15), Usage(20, 128, 10), bill + Usage(3, 2)
    ]  # fmt: skip
    for outcome in (single, called, fanned, judged):
        assert isinstance(outcome, Halted)
        assert outcome.usage == outcome.trace[0].usage


@pytest.mark.rule("L65")
def test_what_failures_cost_counts_towards_the_limit() -> None:
    world = World(produce=_fails_with_a_cost)
    options = RunOptions(max_tokens=100, concurrency=1)
    outcome = play(FAN.format(budget=9), world, inputs={"items": ["a", "b", "c", "d"]}, options=options)
    assert isinstance(outcome, Halted)
    assert outcome.reason is Reason.COST_EXHAUSTED
    assert len(world.asked) == 2


@pytest.mark.rule("L116")
def test_an_observer_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: object) -> None:
        raise RuntimeError("no")

    machine = machine_from_text(FAN.format(budget=9))
    outcome = asyncio.run(arun(machine, {"items": ["a"]}, oracle=World(), observer=broken))
    assert isinstance(outcome, Done)
    assert "an observer failed" in caplog.text
