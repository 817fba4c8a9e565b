"""What a state asks its model, and what becomes of an answer that is not whole."""

from __future__ import annotations

import pytest

from mklang.engine.options import Reaction, RunOptions
from mklang.engine.outcome import Done, Halted
from mklang.engine.requests import Attempt, Judge, Produce, Produced, Usage, Verdict
from mklang.errors import UnknownTier
from tests.engine.worlds import World, play

MACHINE = """
machine: tiers
entry: draft
budget: 9
default_tier: reasoning
states:
  draft:
    structure: a word
    prompt: go
    output: a
    gates: [{when: it is done, then: ok, to: vote}]
  vote:
    tier: fast
    structure: a word
    prompt: go
    sample: 2
    output: b
    gates: [{when: it is done, then: ok, to: inner}]
  inner:
    call: inner
    tier: balanced
    output: c
    gates: [{when: it is done, then: ok, to: END}]
"""
INNER = """
machine: inner
entry: s
budget: 3
states:
  s:
    structure: a word
    prompt: go
    output: o
    gates: [{when: otherwise, then: ok, to: END}]
"""


@pytest.mark.rule("L44", "L46")
def test_each_request_names_its_tier_and_a_writers_temperature() -> None:
    world = World()
    assert isinstance(play(MACHINE, world, callees={"inner": INNER}), Done)
    asked = [
        (request.key, request.tier.value, getattr(request, "temperature", None))
        for request in world.asked
        if isinstance(request, Produce | Judge)
    ]
    assert sorted(asked) == [
        ("1:draft/judge[0]", "reasoning", None),
        ("1:draft/produce", "reasoning", 0.4),
        ("2:vote/judge[0]", "fast", None),
        ("2:vote[0]/produce", "fast", 0.8),
        ("2:vote[1]/produce", "fast", 0.8),
        ("3:inner/call/1:s/produce", "balanced", 0.4),
        ("3:inner/judge[0]", "balanced", None),
    ]


@pytest.mark.rule("L46")
def test_a_tier_without_a_model_is_an_error_of_its_state() -> None:
    def no_model(_: object) -> Produced:
        raise UnknownTier("fast", ["balanced"])

    outcome = play(INNER, World(produce=no_model))
    assert isinstance(outcome, Halted)
    assert outcome.error == "state-error: tier 'fast' not configured (registered: balanced)"


CUT = Produced(text='{"items": ["x"', truncated=True, finish_reason="length", usage=Usage(9, 16))


@pytest.mark.rule("L48")
@pytest.mark.parametrize(
    ("parse", "policy", "error"),
    [
        ("", Reaction.REPORT, None),
        ("", Reaction.HALT, "state-error: output-truncated"),
        ("parse: json", Reaction.REPORT, "state-error: parse-json-truncated"),
        ("parse: list", Reaction.REPORT, "state-error: parse-list-truncated"),
        ("parse: json", Reaction.HALT, "state-error: output-truncated"),
    ],
)
def test_a_text_that_was_cut_off_is_shown_or_refused_and_never_made_whole(
    parse: str, policy: Reaction, error: str | None
) -> None:
    machine = INNER.replace("prompt: go", f"prompt: go\n    {parse}" if parse else "prompt: go")
    outcome = play(machine, World(produce=lambda _: CUT), options=RunOptions(on_truncate=policy))
    (step,) = outcome.trace
    assert (step.truncated, step.finish_reason, step.usage) == (True, "length", Usage(9, 16))
    if error is None:
        assert isinstance(outcome, Done)
        assert outcome.result == CUT.text
    else:
        assert isinstance(outcome, Halted)
        assert outcome.error == error


def test_the_models_asked_before_stand_in_the_step_of_writers_judges_and_branches() -> None:
    tried = Attempt(model="a", cause="status", message="busy", usage=Usage(1, 0))
    world = World(
        produce=lambda _: Produced(text="ok", attempts=(tried,)),
        judge=lambda _: Verdict(index=0, attempts=(tried,)),
    )
    outcome = play(MACHINE, world, callees={"inner": INNER})
    assert [len(step.attempts) for step in outcome.trace] == [2, 3, 1]
    told = outcome.trace[0].to_wire()["attempts"]
    assert told[0] == {"model": "a", "cause": "status", "message": "busy", "usage": {"input_tokens": 1}}  # type: ignore[index]
