"""Playing the scenarios of a file: each on its own, none stopping another (L93)."""

from __future__ import annotations

import pytest

from mklang.engine.requests import Hook, HookValue, Observation
from mklang.testing.playing import Around, play_all
from tests.testing.documents import NOTE, PAIR, machine, play_text, scenario_file, told

TOKENS = "llm: { produce: [a, b], tokens: [10, 5] }\n"


@pytest.mark.rule("L93")
def test_a_scenario_that_fails_or_cannot_be_read_stops_no_other() -> None:
    file = scenario_file(
        "name: wrong\nllm: { produce: [a, b] }\nexpect: { result: z }",
        "name: typo\nexpects: {}",
        "name: right\nllm: { produce: [a, b] }\nexpect: { result: b }",
    )
    played = play_all(file.entries, machine(PAIR), {})
    assert [(one.name, one.passed) for one in played] == [("wrong", False), ("typo", False), ("right", True)]
    (typo,) = told(played[1])
    assert typo.startswith("s.test.yaml:8:5: unknown-key: scenarios[1].expects:")


def test_scenarios_share_nothing() -> None:
    text = "llm: { produce: [a, b] }\nexpect: { result: b }"
    played = play_all(scenario_file(text, text).entries, machine(PAIR), {})
    assert [told(one) for one in played] == [[], []]


@pytest.mark.rule("L90")
@pytest.mark.parametrize(
    ("run", "expect"),
    [
        ("{ cost_budget: 15 }", "{ status: halt, error: cost-exhausted, trace: [{ state: first }] }"),
        ("{ cost_budget: 15, suspendable: true }", "{ status: suspended, error: cost-exhausted, at: second }"),
        ("{ max_steps: 1 }", "{ status: halt, error: budget-exhausted, trace: [{ state: first }] }"),
    ],
)
def test_a_run_option_reaches_the_run(run: str, expect: str) -> None:
    script = "llm: { produce: { one: a }, tokens: [10, 5] }"
    assert told(play_text(PAIR, f"{script}\nrun: {run}\nexpect: {expect}")) == []


@pytest.mark.rule("L30", "L32", "L34", "L90")
@pytest.mark.parametrize(
    ("key", "run", "answer"),
    [
        ("input", "{}", "fenced"),
        ("context", "{}", "fenced"),
        ("input", "{ trusted_keys: [raw] }", "bare"),
        ("input", "{ delimit: false }", "bare"),
    ],
)
def test_inputs_come_from_outside(key: str, run: str, answer: str) -> None:
    text = f"""
        llm: {{ produce: {{ <data-: fenced, tidy: bare }}, judge: [0] }}
        {key}: {{ raw: some words }}
        run: {run}
        expect: {{ result: {answer} }}
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L27", "L90")
def test_the_length_of_a_value_can_be_limited() -> None:
    text = """
        llm: { produce: { "aaaa…[truncated]": cut }, judge: [0] }
        input: { raw: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }
        run: { prompt_value_chars: 16, delimit: false }
        expect: { result: cut }
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L43", "L90")
@pytest.mark.parametrize(("option", "second"), [("true", "corrected"), ("false", "again")])
def test_repair_feedback_can_be_left_out(option: str, second: str) -> None:
    text = f"""
        llm: {{ produce: {{ "[Repair feedback]": corrected, tidy: again }}, judge: [1, 0] }}
        run: {{ repair_feedback: {option} }}
        expect: {{ result: {second} }}
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L93")
def test_a_host_that_breaks_its_contract_fails_the_scenario_with_the_reason() -> None:
    async def answers_like_a_tool(_request: Hook) -> HookValue:
        return Observation("yes")  # type: ignore[return-value]  # the fault under test

    document = PAIR.replace("when: otherwise, then: ok, to: second", "when: x, hook: own, then: ok, to: second")
    file = scenario_file("llm: { produce: [a, b] }\nexpect: { status: done }")
    (played,) = play_all(file.entries, machine(document), {}, around=Around(hooks=answers_like_a_tool))
    assert told(played) == ["InternalError: 1:first/hook[0]: an oracle answered a hook with Observation"]
