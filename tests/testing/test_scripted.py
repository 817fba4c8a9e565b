"""The scripted oracle: what a script answers, in what order, and what it refuses to make up (L91)."""

from __future__ import annotations

import asyncio

import pytest

from mklang.engine.requests import Produce, Produced
from mklang.lang.models import Tier
from mklang.oracles.scripted import Manner, Script, ScriptedOracle
from tests.testing.documents import NOTE, PAIR, SPREAD, play_text, told

CALLER = """
    machine: caller
    entry: each
    budget: 20
    context: { items: [x, y] }
    states:
      each:
        call: worker
        over: "{{items}}"
        input: { item_name: "{{item}}" }
        output: parts
        gates: [{ when: otherwise, then: ok, to: END }]
"""
WORKER = """
    machine: worker
    entry: work
    budget: 5
    context: { item_name: "" }
    states:
      work:
        structure: s
        prompt: "work on {{item_name}}"
        output: o
        gates:
          - { when: it is fine, then: ok, to: END }
          - { when: it is not, repair: 1, to: work }
          - { when: otherwise, then: ok, to: END }
"""
LOOKUP = """
    machine: lookup
    entry: find
    budget: 6
    states:
      find:
        tool: search_kb
        input: { query: "refunds" }
        output: facts
        accumulate: true
        gates:
          - { when: enough, hook: enough, then: ok, to: END }
          - { when: otherwise, then: ok, to: find }
"""


@pytest.mark.rule("L90")
def test_a_list_answers_in_order() -> None:
    played = play_text(
        PAIR, "llm: { produce: [first, second] }\nexpect: { status: done, context: { a: first, b: second } }"
    )
    assert told(played) == []


@pytest.mark.rule("L90")
def test_a_map_answers_by_the_first_key_that_occurs_in_the_message() -> None:
    text = """
        llm: { produce: { absent: wrong, idy: first match, tidy: second match }, judge: [0] }
        expect: { status: done, result: first match }
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91", "W57")
def test_a_judge_call_without_verdicts_fails_and_says_what_was_asked() -> None:
    first, status, ended = told(play_text(NOTE, "llm: { produce: [draft] }\nexpect: { status: done }"))
    assert first.startswith("script: 1:write/judge[0]: state 'write' asked which of these is true:")
    assert "every fact is kept; a fact is missing" in first
    assert first.endswith("llm.judge is not in the script")
    assert status == 'status: expected "done", got "halt"'
    assert "see above" in ended


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("llm", "key", "why"),
    [
        ("{ produce: [draft], judge: [1, 0] }", "2:write/produce", "the scripted text is used up"),
        ("{ produce: [], judge: [0] }", "1:write/produce", "the script holds no text"),
        ("{ judge: [0] }", "1:write/produce", "the script holds no text"),
        ("{ produce: [a, b, c], judge: [1] }", "2:write/judge[0]", "the scripted verdict is used up"),
        ("{ produce: [a], judge: [] }", "1:write/judge[0]", "the script holds no verdict"),
        ("{ produce: { nowhere: a } }", "1:write/produce", "no key of llm.produce occurs in the message"),
        ("{ produce: [a], judge: [3] }", "1:write/judge[0]", "the scripted verdict is 3, allowed is 0 to 1, or none"),
    ],
)
def test_what_is_not_scripted_fails(llm: str, key: str, why: str) -> None:
    first = told(play_text(NOTE, f"llm: {llm}\nexpect: {{ status: done }}"))[0]
    assert first.startswith(f"script: {key}: state 'write' asked ")
    assert first.endswith(why)


@pytest.mark.rule("L91")
def test_a_script_that_ran_out_cannot_pass_as_an_expected_error() -> None:
    played = play_text(
        NOTE, "llm: { produce: [draft], judge: [] }\nexpect: { status: halt, error_prefix: state-error }"
    )
    assert not played.passed


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("llm", "leftover"),
    [
        ("{ produce: [a, b], judge: [0] }", "1 scripted text was never asked for"),
        ("{ produce: [a], judge: [0, 1, none] }", "2 scripted judge verdicts were never asked for"),
    ],
)
def test_what_was_scripted_and_never_asked_for_fails(llm: str, leftover: str) -> None:
    assert told(play_text(NOTE, f"llm: {llm}\nexpect: {{ status: done }}"))[0] == leftover


def test_entries_of_a_map_may_stay_unused() -> None:
    played = play_text(NOTE, "llm: { produce: { <data-: fenced, tidy: bare }, judge: [0] }\nexpect: { result: bare }")
    assert told(played) == []


@pytest.mark.rule("L91")
@pytest.mark.parametrize("verdict", ["none", "None", "2"])
def test_none_in_any_case_and_the_size_of_the_batch_mean_none(verdict: str) -> None:
    text = f"llm: {{ produce: [a], judge: [{verdict}] }}\nexpect: {{ error: gate-fail, trace: [{{ judge_none: 1 }}] }}"
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
@pytest.mark.parametrize("judge", ["unparseable", "[unparseable]"])
def test_a_verdict_can_be_unparseable(judge: str) -> None:
    text = f"""
        llm: {{ produce: [a], judge: {judge} }}
        expect: {{ error: gate-fail, trace: [{{ judge_fallback: true, judge_raw: unparseable }}] }}
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
def test_positions_count_the_conditions_as_asked_without_spent_repairs() -> None:
    text = """
        llm: { produce: [a, b, c], judge: [1, 1, 1] }
        expect: { error: gate-fail, trace: [{ policy: repair }, { policy: repair }, { judge_none: 1 }] }
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
def test_tokens_go_with_every_text_and_with_no_verdict() -> None:
    text = """
        llm: { produce: [a, b], judge: [1, 0], tokens: [10, 5] }
        expect:
          trace:
            - { cost: { input_tokens: 10, output_tokens: 5 } }
            - { cost: { input_tokens: 10, output_tokens: 5 } }
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
def test_a_state_that_reasons_gets_a_thought() -> None:
    document = PAIR.replace("prompt: one", "prompt: one\n        reason: true")
    text = "llm: { produce: [a, b] }\nexpect: { trace: [{ reasoning: thought }, { reasoning: null }] }"
    assert told(play_text(document, text)) == []


@pytest.mark.rule("L71")
def test_a_judged_step_has_the_published_keys_and_no_others() -> None:
    played = play_text(NOTE, "llm: { produce: [a], judge: [0] }\nexpect: { status: done }")
    assert played.outcome is not None
    assert played.outcome.trace[0].to_wire() == {
        "state": "write",
        "tier": "balanced",
        "output": "a",
        "gate_via": "llm",
        "judge_model": "scripted",
        "step": 1,
        "gate": "every fact is kept",
        "policy": "ok",
        "to": "END",
    }


@pytest.mark.rule("L90")
def test_tools_and_hooks_repeat_their_last_entry() -> None:
    text = """
        tools: { search_kb: [one, two] }
        hooks: { enough: [false, false, true] }
        expect: { status: done, context: { facts: [one, two, two] } }
    """
    assert told(play_text(LOOKUP, text)) == []


@pytest.mark.rule("L90")
def test_a_tool_can_answer_by_a_part_of_its_input() -> None:
    text = """
        tools: { search_kb: { '"query": "other"': wrong, refunds: right } }
        hooks: { enough: [true] }
        expect: { result: right }
    """
    assert told(play_text(LOOKUP, text)) == []


@pytest.mark.rule("L55", "L90")
def test_a_tools_result_that_is_no_text_stands_for_its_json() -> None:
    text = """
        tools: { search_kb: [{ written: true, n: [1, null] }] }
        hooks: { enough: [true] }
        expect: { result: '{"written": true, "n": [1, null]}' }
    """
    assert told(play_text(LOOKUP, text)) == []


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("tools: { search_kb: [] }", "state-error: tool 'search_kb' fails"),
        ("tools: { search_kb: [a] }\nhooks: { enough: [] }", "state-error: hook 'enough' fails"),
        ("tools: { other: [a] }", "state-error: tool: unknown tool 'search_kb'"),
        ("tools: { search_kb: [a] }", "state-error: hook: unknown hook 'enough'"),
    ],
)
def test_a_test_can_make_a_tool_or_a_hook_fail(script: str, error: str) -> None:
    assert told(play_text(LOOKUP, f'{script}\nexpect: {{ status: halt, error_prefix: "{error}" }}')) == []


def test_a_tool_map_without_a_matching_key_fails_the_scenario() -> None:
    text = "tools: { search_kb: { nowhere: a } }\nexpect: { status: halt, error_prefix: state-error }"
    assert told(play_text(LOOKUP, text))[0].endswith("no key of tools.search_kb occurs in the input")


@pytest.mark.rule("L59", "L90")
@pytest.mark.parametrize("hook", ["always_true", "'eq:raw:x'"])
def test_built_in_and_parametric_hooks_need_no_script(hook: str) -> None:
    document = NOTE.replace("when: every fact is kept,", f"when: it holds, hook: {hook},").replace(
        "a fact is missing", "otherwise"
    )
    text = "llm: { produce: [a] }\ninput: { raw: x }\nexpect: { status: done, trace: [{ gate_via: hook }] }"
    assert told(play_text(document, text)) == []


@pytest.mark.rule("L90")
def test_a_scripted_hook_comes_before_a_built_in_one_of_that_name() -> None:
    document = LOOKUP.replace("hook: enough", "hook: always_false")
    text = "tools: { search_kb: [a] }\nhooks: { always_false: [true] }\nexpect: { status: done }"
    assert told(play_text(document, text)) == []


@pytest.mark.rule("L91")
def test_in_a_fan_out_a_list_answers_each_branch_by_its_index() -> None:
    text = """
        llm: { produce: [X, Y, Z, joined] }
        expect: { result: joined, context: { parts: [X, Y, Z] } }
    """
    assert told(play_text(SPREAD, text)) == []


@pytest.mark.rule("L91")
def test_a_fan_outs_entries_are_counted_from_where_the_list_stood() -> None:
    document = SPREAD.replace("entry: each", "entry: before")
    text = """
        llm: { produce: [begun, X, Y, Z, joined] }
        expect: { result: joined, context: { start: begun, parts: [X, Y, Z] } }
    """
    assert told(play_text(document, text)) == []


@pytest.mark.parametrize(
    ("asked", "texts"),
    [((2, 0, 1), ["two", "zero", "one"]), ((2, 0), ["two", "zero"]), ((2,), ["two"])],
    ids=["any order", "one does not ask", "only the last asks"],
)
def test_branches_take_their_own_entries_whoever_asks_when(asked: tuple[int, ...], texts: list[str]) -> None:
    oracle = ScriptedOracle(Script(produce=("zero", "one", "two", "after")))

    def text_for(key: str) -> str:
        answer = asyncio.run(oracle.answer(Produce(key=key, state="each", tier=Tier.BALANCED, system="", user="")))
        assert isinstance(answer, Produced)
        return answer.text

    assert [text_for(f"1:each[{index}]/produce") for index in asked] == texts
    assert text_for("2:each/produce") == "after"
    assert oracle.closing().unused_texts == 3 - len(asked)


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("results", "problem"),
    [("[same]", None), ("[one, other]", "use the map form of tools.look"), ("{ x: X, y: Y }", None)],
)
def test_a_tool_list_serves_a_branch_that_asks_twice_only_when_its_order_does_not_matter(
    results: str, problem: str | None
) -> None:
    worker = """
        machine: worker
        entry: first
        budget: 5
        states:
          first:
            { tool: look, input: { q: xy }, output: o, gates: [{ when: otherwise, then: ok, to: second }] }
          second:
            { tool: look, input: { q: xy }, output: o, gates: [{ when: otherwise, then: ok, to: END }] }
    """
    played = play_text(CALLER, f"tools: {{ look: {results} }}\nexpect: {{ status: done }}", callees={"worker": worker})
    assert [problem in line for line in told(played)[:1] if problem] == ([True] if problem else [])
    assert played.passed is (problem is None)


def test_a_states_id_that_looks_like_a_branch_is_no_branch() -> None:
    document = PAIR.replace("entry: first", 'entry: "first[7]"').replace("      first:", '      "first[7]":')
    text = "llm: { produce: [a, b] }\nexpect: { status: done, context: { a: a, b: b } }"
    assert told(play_text(document, text)) == []


@pytest.mark.rule("L91")
def test_one_answer_for_each_branch_also_serves_a_called_machine() -> None:
    text = "llm: { produce: [X, Y], judge: [0, 0] }\nexpect: { result: [X, Y] }"
    assert told(play_text(CALLER, text, callees={"worker": WORKER})) == []


@pytest.mark.rule("L91")
def test_a_branch_that_asks_twice_has_no_place_in_a_list() -> None:
    text = "llm: { produce: [X, Y, Z], judge: [1, 0, 0] }\nexpect: { status: done }"
    found = told(play_text(CALLER, text, callees={"worker": WORKER}))
    assert any("use the map form of llm.produce" in line for line in found)


@pytest.mark.rule("L91")
def test_a_published_case_is_answered_leniently() -> None:
    published = play_text(NOTE, "llm: { produce: [a], judge: [1] }\nexpect: { result: ok }", manner=Manner.PUBLISHED)
    # a; the verdict 1 repeats until both repairs are spent; then position 1 is the size of the batch: none
    assert told(published)[0] == 'result: expected "ok", got null'
    assert published.outcome is not None
    assert [step.output for step in published.outcome.trace] == ["a", "ok", "ok"]


@pytest.mark.rule("L91")
@pytest.mark.parametrize("judge", ["", ", judge: []"])
def test_a_published_case_without_verdicts_chooses_the_last_condition(judge: str) -> None:
    text = f"llm: {{ produce: [a]{judge} }}\nexpect: {{ trace: [{{ gate: a fact is missing }}, {{}}, {{}}] }}"
    played = play_text(NOTE, text, manner=Manner.PUBLISHED)
    assert told(played) == []


@pytest.mark.rule("L91")
def test_leftovers_do_not_matter_in_a_published_case() -> None:
    text = "llm: { produce: [a, b], judge: [0, 0, 0] }\nexpect: { result: a }"
    assert told(play_text(NOTE, text, manner=Manner.PUBLISHED)) == []


@pytest.mark.rule("L81")
def test_nobody_is_scripted_to_answer_for_people() -> None:
    document = NOTE.replace("otherwise, fail: true", "otherwise, escalate: true, to: write, ask: Is it good?")
    text = """
        llm: { produce: [a], judge: [none] }
        run: { escalate_suspend: true }
        expect: { status: suspended, error: escalated, at: write, ask: Is it good?, reply_to: human.reply }
    """
    assert told(play_text(document, text)) == []


def test_every_scripted_run_asks_the_same_text() -> None:
    first, second = (
        play_text(NOTE, "llm: { produce: { none: a } }\ninput: { raw: x }\nexpect: { status: done }") for _ in "ab"
    )
    assert told(first) == told(second)
    assert "<data-" in told(first)[0]


@pytest.mark.rule("L91")
def test_a_hook_list_serves_a_branch_that_asks_twice_only_when_its_order_does_not_matter() -> None:
    worker = WORKER.replace("when: it is fine,", "when: it is fine, hook: fine,").replace(
        "when: it is not, repair: 1", "when: it is not, hook: always_true, repair: 1"
    )
    text = "llm: {{ produce: {{ work: a }} }}\nhooks: {{ fine: {values} }}\nexpect: {{ status: done }}"
    same = play_text(CALLER, text.format(values="[false]"), callees={"worker": worker})
    assert told(same) == []
    mixed = play_text(CALLER, text.format(values="[false, true]"), callees={"worker": worker})
    assert "hooks.fine has no order for a branch of a fan-out that asks more than once" in told(mixed)[0]
