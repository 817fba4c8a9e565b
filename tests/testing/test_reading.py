"""Reading scenario files: every mistake at its place, and one bad scenario does not hide the others (W56, W58)."""

from __future__ import annotations

import pytest

from mklang.engine.options import DEFAULT_OPTIONS, Effect, Reaction, RunOptions
from mklang.source import Source
from mklang.testing.reading import load_scenarios, read_scenarios
from mklang.testing.scenario import Scenario, Unreadable
from tests.testing.documents import problems, scenario, scenario_file

pytestmark = pytest.mark.rule("W56", "W58")


def places(text: str) -> list[tuple[str, str]]:
    """Code and place of every problem; the place without the number of the scenario."""
    return [(found.code, found.where.removeprefix("scenarios[0]").removeprefix(".")) for found in problems(text)]


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("5", "wrong-type", ""),
        ("[1]", "wrong-type", ""),
        ("nam: x\nexpect: { status: done }", "unknown-key", "nam"),
        ("produce: [a]\nexpect: { status: done }", "unknown-key", "produce"),
        ("name: 5\nexpect: { status: done }", "wrong-type", "name"),
        ("llm: { prodce: [a] }\nexpect: { status: done }", "unknown-key", "llm.prodce"),
        ("llm: [a]\nexpect: { status: done }", "wrong-type", "llm"),
        ("llm: { produce: a }\nexpect: { status: done }", "wrong-type", "llm.produce"),
        ("llm: { produce: [5] }\nexpect: { status: done }", "wrong-type", "llm.produce[0]"),
        ("llm: { produce: [[a]] }\nexpect: { status: done }", "wrong-type", "llm.produce[0]"),
        ("llm: { produce: { a: 5 } }\nexpect: { status: done }", "wrong-type", "llm.produce.a"),
        ("llm: { judge: maybe }\nexpect: { status: done }", "wrong-type", "llm.judge"),
        ("llm: { judge: 0 }\nexpect: { status: done }", "wrong-type", "llm.judge"),
        ("llm: { judge: [maybe] }\nexpect: { status: done }", "bad-verdict", "llm.judge[0]"),
        ("llm: { judge: [0, -1] }\nexpect: { status: done }", "bad-verdict", "llm.judge[1]"),
        ("llm: { judge: [true] }\nexpect: { status: done }", "bad-verdict", "llm.judge[0]"),
        ("llm: { judge: [1.5] }\nexpect: { status: done }", "bad-verdict", "llm.judge[0]"),
        ("llm: { tokens: [1] }\nexpect: { status: done }", "bad-value", "llm.tokens"),
        ("llm: { tokens: [1, -2] }\nexpect: { status: done }", "bad-value", "llm.tokens"),
        ("llm: { tokens: 5 }\nexpect: { status: done }", "wrong-type", "llm.tokens"),
        ("tools: [a]\nexpect: { status: done }", "wrong-type", "tools"),
        ("tools: { x: a }\nexpect: { status: done }", "wrong-type", "tools.x"),
        ("tools: { x: [null] }\nexpect: { status: done }", "wrong-type", "tools.x[0]"),
        ("hooks: { x: true }\nexpect: { status: done }", "wrong-type", "hooks.x"),
        ("hooks: { x: [1] }\nexpect: { status: done }", "wrong-type", "hooks.x[0]"),
        ("input: [a]\nexpect: { status: done }", "wrong-type", "input"),
        ("run: { tools: {} }\nexpect: { status: done }", "unknown-key", "run.tools"),
        ("run: { cost_budget: -1 }\nexpect: { status: done }", "bad-value", "run.cost_budget"),
        ("run: { max_workers: 0 }\nexpect: { status: done }", "bad-value", "run.max_workers"),
        ("run: { delimit: 1 }\nexpect: { status: done }", "wrong-type", "run.delimit"),
        ("run: { on_truncate: stop }\nexpect: { status: done }", "bad-value", "run.on_truncate"),
        ("run: { tool_effects: { x: writes } }\nexpect: { status: done }", "bad-value", "run.tool_effects.x"),
        ("run: { trusted_keys: [5] }\nexpect: { status: done }", "wrong-type", "run.trusted_keys[0]"),
        ("name: x", "missing-key", ""),
        ("expect: done", "wrong-type", "expect"),
        ("expect: {}", "empty-expectation", "expect"),
        ("expect: { context: {} }", "empty-expectation", "expect"),
        ("expect: { statuss: done }", "unknown-key", "expect.statuss"),
        ("expect: { status: halted }", "bad-value", "expect.status"),
        ("expect: { error: 5 }", "wrong-type", "expect.error"),
        ("expect: { context: [a] }", "wrong-type", "expect.context"),
        ("expect: { trace: { state: a } }", "wrong-type", "expect.trace"),
        ("expect: { trace: [a] }", "wrong-type", "expect.trace[0]"),
        ("expect: { trace: [{ stat: a }] }", "unknown-key", "expect.trace[0].stat"),
    ],
)
def test_a_mistake_is_reported_once_at_its_place(text: str, code: str, where: str) -> None:
    assert places(text) == [(code, where)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("nam: x\nexpect: { status: done }", "did you mean 'name'?"),
        ("produce: [a]\nexpect: { status: done }", "it belongs to 'llm'"),
        ("statuss: x\nexpect: { status: done }", "known here: name, llm"),
        ("expect: { statuss: done }", "did you mean 'status'?"),
        ("expect: { trace: [{ polcy: ok }] }", "did you mean 'policy'?"),
        ("expect: { status: halted }", "did you mean 'halt'?"),
        ("llm: { judge: 0 }\nexpect: { status: done }", "write one verdict as a list: [0]"),
        ("llm: { produce: [5] }\nexpect: { status: done }", "quote it"),
        ("expect: {}", "add at least 'status: done'"),
    ],
)
def test_a_mistake_comes_with_what_was_probably_meant(text: str, hint: str) -> None:
    (found,) = problems(text)
    assert hint in found.hint


def test_all_mistakes_of_a_scenario_are_reported_in_reading_order() -> None:
    text = "llm: { prodce: [a] }\ntools: 5\nrun: { cost: 3 }\nexpect: { resultt: 1 }"
    found = [where for _, where in places(text)]
    assert found == ["llm.prodce", "tools", "run.cost", "expect.resultt"]


def test_a_mistake_has_a_line_and_a_column() -> None:
    text = "scenarios:\n  - name: a\n    expect:\n      statuss: done\n"
    (found,) = read_scenarios(Source("x.test.yaml", text)).diagnostics
    assert found.render().startswith("x.test.yaml:4:7: unknown-key: scenarios[0].expect.statuss:")


@pytest.mark.rule("L93")
def test_a_bad_scenario_leaves_the_others_readable() -> None:
    file = scenario_file("name: one\nexpect: { status: done }", "name: two\nexpect: {}", "expect: { status: halt }")
    assert [type(entry) for entry in file.entries] == [Scenario, Unreadable, Scenario]
    assert [entry.name for entry in file.entries] == ["one", "two", "scenario[2]"]
    assert [found.code for found in file.diagnostics] == ["empty-expectation"]


@pytest.mark.rule("L93")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-scenarios"),
        ("scenarios: []", "no-scenarios"),
        ("scenarios: {}", "wrong-type"),
        ("scenarios: a", "wrong-type"),
        ("scenarios:", "wrong-type"),
        ("other: 1", "missing-key"),
        ("scenarios: [{ expect: { status: done } }]\nmachine: x", "unknown-key"),
        ("- expect: { status: done }", "wrong-type"),
        ("just text", "wrong-type"),
        ("scenarios: [", "yaml-syntax"),
        ("scenarios: []\nscenarios: []", "duplicate-key"),
    ],
)
def test_a_file_that_holds_no_scenarios_says_why(text: str, code: str) -> None:
    file = read_scenarios(Source("x.test.yaml", text))
    assert file.entries == ()
    assert code in [found.code for found in file.diagnostics]


def test_a_misspelt_list_of_scenarios_is_one_problem() -> None:
    file = read_scenarios(Source("x.test.yaml", "scenario: []"))
    assert [(found.code, found.hint) for found in file.diagnostics] == [("unknown-key", "did you mean 'scenarios'?")]


def test_a_missing_file_is_a_diagnostic() -> None:
    assert [found.code for found in load_scenarios("no/such.test.yaml").diagnostics] == ["file-missing"]


@pytest.mark.rule("L90")
def test_input_wins_over_context() -> None:
    read = scenario("context: { a: 1, b: 2 }\ninput: { b: 3 }\nexpect: { status: done }")
    assert read.inputs == {"a": 1, "b": 3}


@pytest.mark.rule("L90")
def test_run_options_have_their_published_names() -> None:
    read = scenario(
        """
        run:
          cost_budget: 20
          max_workers: 2
          max_steps: 9
          on_truncate: halt
          on_untrusted_flow: halt
          tool_effects: { look: read, act: effect }
          trusted_keys: [a, b.c]
          flow_tainted: true
          prompt_value_chars: 0
          delimit: false
          repair_feedback: false
          suspendable: true
          escalate_suspend: true
        expect: { status: done }
        """
    )
    assert read.options == RunOptions(
        max_tokens=20,
        concurrency=2,
        max_steps=9,
        on_truncate=Reaction.HALT,
        on_untrusted_flow=Reaction.HALT,
        tool_effects={"look": Effect.READ, "act": Effect.EFFECT},
        trusted=frozenset({"a", "b.c"}),
        flow_tainted=True,
        value_chars=0,
        delimit=False,
        repair_feedback=False,
        suspend_on_limit=True,
        humans=True,
    )


@pytest.mark.rule("L90")
@pytest.mark.parametrize(
    "run", ["", "run: {}\n", "run: { delimit: true, repair_feedback: true, suspendable: false }\n"]
)
def test_what_is_not_said_keeps_its_default(run: str) -> None:
    assert scenario(f"{run}expect: {{ status: done }}").options == DEFAULT_OPTIONS
