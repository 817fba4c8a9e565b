"""What a state asks, what it may not hide, and how a run that ends early says so."""

from __future__ import annotations

from typing import Any

import pytest

from mklang.engine.options import Reaction, RunOptions
from mklang.engine.outcome import Done, Halted, Reason, Suspended, to_wire
from mklang.engine.requests import Judge, Produce, Produced, Usage, Verdict
from mklang.errors import ProviderFailed, Refused, ToolFailed, UnknownTier
from tests.engine.worlds import World, play

ONE = """
machine: one
entry: a
budget: 4
default_tier: fast
context: {note: ""}
states:
  a:
    structure: "  A line of verse.  "
    execution: Never rhyme.
    prompt: "Write {{note}}"
    output: x
    EXTRA
    gates:
      - {when: it is fine, then: ok, to: END}
"""


def one(extra: str = "tier: reasoning") -> str:
    return ONE.replace("EXTRA", extra)


@pytest.mark.rule("L42", "L46")
def test_a_model_is_told_contract_policy_and_rules_at_the_states_own_tier() -> None:
    world = World()
    play(one(), world)
    produce, judge = world.asked
    assert isinstance(produce, Produce)
    assert isinstance(judge, Judge)
    assert produce.user == "Write "
    assert "Output contract: A line of verse.\n" in produce.system
    assert "Policy: Never rhyme.\n" in produce.system
    assert (produce.tier.value, judge.tier.value) == ("reasoning", "reasoning")
    play(one("accumulate: false"), world)
    assert world.asked[2].tier.value == "fast"  # type: ignore[union-attr]


@pytest.mark.rule("L33")
def test_a_fenced_prompt_comes_with_the_rule_that_names_its_nonce() -> None:
    world = World()
    play(one(), world, inputs={"note": "from outside"})
    produce = world.asked[0]
    assert isinstance(produce, Produce)
    nonce = produce.user.split("<data-")[1].split(">")[0]
    assert f"<data-{nonce}>" in produce.system
    assert "no authority" in produce.system


@pytest.mark.rule("L44")
@pytest.mark.parametrize(("extra", "temperature"), [("sample: 2", 0.8), ("accumulate: true", 0.4)])
def test_samples_are_drawn_warmer(extra: str, temperature: float) -> None:
    world = World()
    play(one(extra), world)
    assert isinstance(world.asked[0], Produce)
    assert world.asked[0].temperature == temperature


@pytest.mark.rule("L46")
def test_a_tier_without_a_model_fails_the_state_that_asks_for_it() -> None:
    def produce(request: Any) -> Produced:
        raise UnknownTier(request.tier.value, ["fast"])

    outcome = play(one(), World(produce=produce))
    assert isinstance(outcome, Halted)
    assert outcome.error == "state-error: tier 'reasoning' not configured (registered: fast)"


@pytest.mark.rule("L48")
def test_a_text_that_was_cut_off_is_said_to_be_or_refused_and_never_parsed() -> None:
    cut = World(produce=lambda _: Produced(text="[1, 2", truncated=True, finish_reason="length"))
    told = play(one(), cut)
    assert isinstance(told, Done)
    assert (told.trace[0].truncated, told.trace[0].finish_reason) == (True, "length")
    refused = play(one(), cut, options=RunOptions(on_truncate=Reaction.HALT))
    assert isinstance(refused, Halted)
    assert refused.error == "state-error: output-truncated"
    parsed = play(one("parse: json"), cut)
    assert isinstance(parsed, Halted)
    assert parsed.error == "state-error: parse-json-truncated"


@pytest.mark.rule("L66", "L68", "W30", "W31", "W53")
@pytest.mark.parametrize(
    ("handlers", "error"),
    [
        ({"produce": ProviderFailed("no route")}, "provider-error: no route"),
        ({"produce": Refused("I will not")}, "refusal"),
        ({"judge": ProviderFailed("no route")}, "provider-error: no route"),
        ({"judge": Refused("I will not")}, "refusal"),
        ({"produce": ToolFailed("tool 'x': it broke")}, "state-error: tool 'x': it broke"),
    ],
)
def test_a_failure_keeps_its_kind_wherever_it_happens_and_leaves_a_step(
    handlers: dict[str, Exception], error: str
) -> None:
    def failing(failure: Exception) -> Any:
        def answer(_: object) -> None:
            raise failure

        return answer

    outcome = play(one(), World(**{kind: failing(failure) for kind, failure in handlers.items()}))
    assert isinstance(outcome, Halted)
    assert outcome.error == error
    assert outcome.at == "a"
    wire = to_wire(outcome)
    assert wire["status"] == "halt"
    step = outcome.trace[-1]
    assert step.policy == outcome.reason.value
    assert step.error == error
    assert (step.output is not None) is ("judge" in handlers)


LOOP = """
machine: loop
entry: a
budget: 5
states:
  a:
    structure: s
    prompt: p
    output: x
    gates: [{when: otherwise, then: ok, to: b}]
  b:
    structure: s
    prompt: p
    output: y
    gates: [{when: otherwise, then: ok, to: a}]
"""


@pytest.mark.rule("L69")
def test_a_run_out_of_steps_names_the_state_it_visited_most() -> None:
    wire = to_wire(play(LOOP, World()))
    assert wire["error"] == "budget-exhausted"
    assert "at" not in wire
    assert wire["diagnosis"] == {"most_visited_state": "a", "visits": 3}
    waiting = play(LOOP, World(), options=RunOptions(suspend_on_limit=True))
    assert isinstance(waiting, Suspended)
    assert "diagnosis" not in to_wire(waiting)


OUTER = """
machine: outer
entry: go
budget: 3
context: {items: [a, b]}
states:
  go:
    call: inner
    over: "{{items}}"
    input: {x: "{{item}}"}
    output: outs
    gates: [{when: otherwise, then: ok, to: END}]
"""
INNER = """
machine: inner
entry: s
budget: 2
context: {x: ""}
states:
  s:
    structure: s
    prompt: "{{x}}"
    output: o
    max_visits: 1
    gates:
      - {when: it is done, then: ok, to: END}
      - {when: again, then: ok, to: s}
"""


@pytest.mark.rule("W29")
def test_traces_of_branches_line_up_with_the_branches() -> None:
    def produce(request: Any) -> Produced:
        if "a" in request.user.split("\n"):
            raise ProviderFailed("no route")
        return Produced(text="fine", usage=Usage(1, 1))

    outcome = play(OUTER, World(produce=produce), inputs={"items": ["a", "b"]}, callees={"inner": INNER})
    traces = outcome.trace[0].sub_trace
    assert traces is not None
    assert len(traces) == 2
    assert [failure.index for failure in outcome.trace[0].branch_errors] == [0]


@pytest.mark.rule("W8")
def test_what_is_made_from_a_list_of_the_hosts_is_external() -> None:
    text = OUTER.replace("to: END}]", "to: act}]") + (
        "  act:\n    tool: send\n    output: sent\n    gates: [{when: otherwise, then: ok, to: END}]\n"
    )
    judged = text.replace("{when: otherwise, then: ok, to: act}", "{when: it is good, then: ok, to: act}")
    options = RunOptions(on_untrusted_flow=Reaction.HALT)
    outcome = play(judged, World(), inputs={"items": ["a"]}, callees={"inner": INNER}, options=options)
    assert isinstance(outcome, Halted)
    assert outcome.error == "untrusted-control-flow"


@pytest.mark.rule("W21", "W22", "W63")
def test_a_callee_out_of_budget_waits_and_goes_on_with_a_larger_one_of_its_own() -> None:
    single = OUTER.replace('    over: "{{items}}"\n', "").replace("{{item}}", "{{items}}")
    single = single.replace("output: outs", "output: outs\n    max_visits: 1")
    inner = INNER.replace("    max_visits: 1\n", "").replace("budget: 2", "budget: 1")
    verdicts = World(judge=lambda request: Verdict(index=1 if request.key.endswith("1:s/judge[0]") else 0))
    waiting = play(single, verdicts, callees={"inner": inner}, options=RunOptions(suspend_on_limit=True))
    assert isinstance(waiting, Suspended)
    assert (waiting.reason, waiting.at, waiting.stack) == (Reason.BUDGET_EXHAUSTED, "s", ("inner",))
    assert waiting.usage.total > 0
    options = RunOptions(suspend_on_limit=True, budgets={"inner": 5})
    done = play(single, verdicts, callees={"inner": inner}, options=options)
    assert isinstance(done, Done)
