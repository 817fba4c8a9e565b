"""Answers by the key of their request, and people who are scripted to reply (L90, L91)."""

from __future__ import annotations

import pytest

from mklang.engine.options import OnUncertain, RunOptions
from mklang.testing.options import NUMBERS, OTHERS, REACTIONS, SWITCHES, WORDS, written_options
from tests.testing.documents import NOTE, PAIR, SPREAD, play_text, problems, scenario, told

ASKING = """
    machine: asking
    entry: draft
    budget: 6
    states:
      draft:
        structure: s
        prompt: a draft
        output: draft
        gates:
          - { when: it is fine, then: ok, to: END }
          - { when: otherwise, escalate: true, to: revise, ask: "What is wrong?", reply_to: editor.says }
      revise:
        structure: s
        prompt: "take {{editor.says}} into account"
        output: draft
        gates:
          - { when: it is fine, then: ok, to: END }
          - { when: otherwise, escalate: true, to: revise, ask: "And now?", reply_to: editor.says }
"""
ACTING = """
    machine: acting
    entry: send
    budget: 4
    states:
      send:
        tool: send_reply
        input: { body: hello }
        output: sent
        gates:
          - { when: it failed, hook: write_failed, fail: true }
          - { when: otherwise, then: ok, to: END }
"""


@pytest.mark.rule("L90", "L91")
def test_an_answer_by_key_comes_before_everything_else() -> None:
    text = """
        llm: { produce: [from the list], judge: [0] }
        answers: { "1:write/produce": pinned, "1:write/judge[0]": 1 }
        expect: { result: from the list, trace: [{ output: pinned, policy: repair }, {}] }
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
def test_in_a_fan_out_keys_need_no_order() -> None:
    text = """
        answers:
          "1:each[2]/produce": Z
          "1:each[0]/produce": X
          "1:each[1]/produce": { failed: no route }
          "2:after/produce": joined
        expect:
          result: joined
          context: { parts: [X, "[branch-error: provider-error: no route]", Z] }
    """
    assert told(play_text(SPREAD, text)) == []


@pytest.mark.rule("L91")
def test_a_pinned_text_can_carry_all_that_a_model_says() -> None:
    text = """
        answers:
          "1:first/produce":
            { text: half a sen, reasoning: hm, tokens: [7, 3], usd: 0.002, finish_reason: length, truncated: true }
          "2:second/produce": ""
        expect:
          trace:
            - output: half a sen
              reasoning: hm
              cost: { input_tokens: 7, output_tokens: 3 }
              truncated: true
              finish_reason: length
            - { output: null }
    """
    played = play_text(PAIR, text)
    assert told(played)[0] == 'trace[1].output: expected null, got ""'
    assert played.outcome is not None
    assert played.outcome.usage.nano_usd == 2_000_000


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("{ failed: no route }", "provider-error: no route"),
        ("{ failed: not this, kind: refused }", "refusal"),
        ("{ failed: out of wits, kind: state }", "state-error: out of wits"),
        ("{ failed: too late, kind: time }", "time-exhausted"),
        ("{ failed: stop, kind: cancelled }", "cancelled"),
    ],
)
def test_a_request_can_be_pinned_to_fail(answer: str, error: str) -> None:
    text = f'answers: {{ "1:first/produce": {answer} }}\nexpect: {{ error: "{error}", at: first }}'
    assert told(play_text(PAIR, text)) == []


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("0", "{ policy: ok }"),
        ("none", "{ policy: fail, judge_none: 1 }"),
        ("2", "{ policy: fail, judge_none: 1 }"),
        ("unparseable", "{ policy: fail, judge_fallback: true }"),
        ("{ verdict: 0, tokens: [5, 1] }", "{ policy: ok, cost: { input_tokens: 5, output_tokens: 1 } }"),
    ],
)
def test_a_verdict_by_key(verdict: str, expected: str) -> None:
    text = f"""
        answers: {{ "1:write/produce": a, "1:write/judge[0]": {verdict} }}
        expect: {{ trace: [{expected}] }}
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
def test_probabilities_by_key_are_walked_by_the_run_itself() -> None:
    text = """
        answers:
          "1:write/produce": a
          "1:write/judge[0]": { probabilities: [0.4, 0.9], band: 0.05 }
          "2:write/produce": b
          "2:write/judge[0]": { probabilities: [0.6, 0.9], threshold: 0.6, none_probability: 0.1 }
        run: { whole_decisions: [balanced] }
        expect: { result: b, trace: [{ policy: repair, noul_probs: [0.4, 0.9] }, { policy: ok }] }
    """
    assert told(play_text(NOTE, text)) == []


@pytest.mark.rule("L91")
@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        ("3", "the verdict pinned to it is 3, allowed is 0 to 1, or none"),
        ("{ probabilities: [0.5] }", "1 probabilities are pinned to it, for 2 conditions"),
    ],
)
def test_a_verdict_that_fits_no_condition_fails_the_scenario(verdict: str, why: str) -> None:
    text = f"""
        answers: {{ "1:write/produce": a, "1:write/judge[0]": {verdict} }}
        expect: {{ status: halt, error_prefix: state-error }}
    """
    assert why in told(play_text(NOTE, text))[0]


@pytest.mark.rule("L90", "L91")
def test_tools_and_hooks_by_key() -> None:
    text = """
        answers: { "1:send/tool": sent, "1:send/hook[0]": false }
        expect: { result: sent }
    """
    assert told(play_text(ACTING, text)) == []
    failing = text.replace("sent,", "{ failed: no such address },").replace(', "1:send/hook[0]": false', "")
    assert 'error "state-error: no such address"' in told(play_text(ACTING, failing))[-1]


@pytest.mark.rule("L84", "L91")
def test_a_call_whose_outcome_nobody_knows_waits() -> None:
    text = """
        answers: { "1:send/tool": { outcome: unknown } }
        expect: { status: suspended, error: outcome-unknown, at: send }
    """
    assert told(play_text(ACTING, text)) == []


@pytest.mark.rule("L91")
def test_keys_that_nothing_asked_for_are_named() -> None:
    text = """
        answers: { "1:write/produce": a, "1:write/judge[0]": 0, "2:write/produce": b, "2:write/judge[0]": 0 }
        expect: { status: done }
    """
    found = told(play_text(NOTE, text))
    assert found[0] == "2 scripted answers were never asked for: 2:write/produce, 2:write/judge[0]"


@pytest.mark.rule("L91")
def test_a_request_without_an_answer_says_which_key_it_wants() -> None:
    first = told(play_text(PAIR, 'answers: { "1:first/produce": a }\nexpect: { status: done }'))[0]
    assert first.startswith("script: 2:second/produce: ")
    assert first.endswith("'answers' has no 2:second/produce")


@pytest.mark.rule("L89", "L90", "L91")
@pytest.mark.parametrize("replies", ["[too long, fine]", "fine"])
def test_people_reply_in_order_or_the_same_every_time(replies: str) -> None:
    text = f"""
        llm: {{ produce: [a, b, c], judge: [none, none, 0] }}
        run: {{ escalate_suspend: true }}
        replies: {{ editor.says: {replies} }}
        expect: {{ result: c, context: {{ editor: {{ says: fine }} }}, trace: [{{ reply: given }}, {{}}, {{}}] }}
    """
    assert told(play_text(ASKING, text)) == []


@pytest.mark.rule("L80", "L91")
def test_a_reply_confirms_by_its_own_words_or_as_it_is_pinned() -> None:
    text = """
        llm: { produce: [a, b, c], judge: [none, none, 0] }
        run: { escalate_suspend: true }
        replies: { editor.says: "Yes." }
        answers: { "3:revise/ask": { editor.says: why not, confirms: true } }
        expect: { result: c, trace: [{ reply: confirmed }, { reply: confirmed }, {}] }
    """
    assert told(play_text(ASKING, text)) == []
    expired = text.replace("editor.says: why not, confirms: true", "expired: true")
    found = told(play_text(ASKING, expired))
    assert found[0] == 'trace[1].reply: expected "confirmed", got "expired"'


@pytest.mark.rule("L81", "L91")
def test_a_question_nobody_is_scripted_to_answer_leaves_the_run_waiting() -> None:
    text = """
        llm: { produce: [a, b], judge: [none, none] }
        run: { escalate_suspend: true }
        replies: { editor.says: [too long] }
        expect: { status: suspended, ask: And now?, at: revise, context: { editor: { says: too long } } }
    """
    assert told(play_text(ASKING, text)) == []


@pytest.mark.rule("L91")
def test_a_pinned_reply_must_answer_where_the_question_is_read() -> None:
    text = """
        llm: { produce: [a], judge: [none] }
        run: { escalate_suspend: true }
        answers: { "2:revise/ask": { human.reply: fine } }
        expect: { status: halt }
    """
    assert "has no value for 'editor.says'" in told(play_text(ASKING, text))[0]


@pytest.mark.rule("L91")
def test_a_reply_that_nobody_asks_for_fails() -> None:
    text = """
        llm: { produce: [a], judge: [0] }
        run: { escalate_suspend: true }
        replies: { editor.says: x, human.reply: [y] }
        expect: { status: done }
    """
    found = told(play_text(ASKING, text))
    assert found[0] == "2 scripted reply paths were never asked for: editor.says, human.reply"


@pytest.mark.rule("W56", "W58")
@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("replies: { a: b }", "nobody-asked", "replies"),
        ("replies: [a]", "wrong-type", "replies"),
        ("answers: [a]", "wrong-type", "answers"),
        ('answers: { "write/produce": a }', "bad-key", "answers.write/produce"),
        ('answers: { "1:write/judge": 0 }', "bad-key", "answers.1:write/judge"),
        ('answers: { "1:w/produce": 5 }', "wrong-type", "answers.1:w/produce"),
        ('answers: { "1:w/produce": {} }', "missing-key", "answers.1:w/produce"),
        ('answers: { "1:w/produce": { text: a, txt: b } }', "unknown-key", "answers.1:w/produce.txt"),
        ('answers: { "1:w/produce": { text: a, tokens: [1] } }', "bad-value", "answers.1:w/produce.tokens"),
        ('answers: { "1:w/produce": { text: a, usd: -1 } }', "wrong-type", "answers.1:w/produce.usd"),
        ('answers: { "1:w/produce": { failed: a, kind: b } }', "bad-value", "answers.1:w/produce.kind"),
        ('answers: { "1:w/produce": { failed: a, failed: b } }', "duplicate-key", "answers.1:w/produce.failed"),
        ('answers: { "1:w/judge[0]": first }', "bad-verdict", "answers.1:w/judge[0]"),
        ('answers: { "1:w/judge[0]": { tokens: [1, 2] } }', "missing-key", "answers.1:w/judge[0]"),
        ('answers: { "1:w/judge[0]": { verdict: -1 } }', "bad-verdict", "answers.1:w/judge[0].verdict"),
        (
            'answers: { "1:w/judge[0]": { probabilities: [1.5] } }',
            "bad-value",
            "answers.1:w/judge[0].probabilities",
        ),
        (
            'answers: { "1:w/judge[0]": { probabilities: [1], band: 2 } }',
            "wrong-type",
            "answers.1:w/judge[0].band",
        ),
        ('answers: { "1:w/hook[0]": 1 }', "wrong-type", "answers.1:w/hook[0]"),
        ('answers: { "1:w/tool": { outcome: known } }', "bad-value", "answers.1:w/tool.outcome"),
        ('answers: { "1:w/tool": [a] }', "wrong-type", "answers.1:w/tool"),
        ('answers: { "1:w/ask": fine }', "wrong-type", "answers.1:w/ask"),
        ('answers: { "1:w/ask": { a: b, confirms: c } }', "wrong-type", "answers.1:w/ask.confirms"),
        ("run: { budgets: { m: 0 } }", "bad-value", "run.budgets.m"),
        ("run: { max_usd: free }", "wrong-type", "run.max_usd"),
        ("run: { whole_decisions: [quick] }", "bad-value", "run.whole_decisions"),
    ],
)
def test_a_mistake_is_reported_once_at_its_place(text: str, code: str, where: str) -> None:
    found = problems(f"{text}\nexpect: {{ status: done }}")
    places = [one.where.removeprefix("scenarios[0].").replace('["', ".").replace('"]', "") for one in found]
    assert [(one.code, place) for one, place in zip(found, places, strict=True)] == [(code, where)]


def test_every_option_of_a_run_has_its_key() -> None:
    keys = {**NUMBERS, **SWITCHES, **REACTIONS, **WORDS, **OTHERS}
    said_elsewhere = {"guards"}  # found around the machine, and in the options for the record only
    assert sorted(keys.values()) == sorted({*RunOptions.__struct_fields__} - said_elsewhere)


def test_options_that_were_written_are_read_again() -> None:
    text = """
        run:
          cost_budget: 9
          max_steps: 8
          max_fanout: 7
          max_failed_branches: 0
          max_depth: 3
          max_workers: 2
          prompt_value_chars: 0
          delimit: false
          repair_feedback: false
          flow_tainted: true
          suspendable: true
          escalate_suspend: true
          on_truncate: halt
          on_untrusted_flow: halt
          on_tainted_arguments: halt
          on_uncertain: ask
          max_usd: 0.25
          budgets: { m: 4 }
          tool_effects: { t: read }
          trusted_keys: [a.b]
          whole_decisions: [fast]
        expect: { status: done }
    """
    options = scenario(text).options
    assert options.on_uncertain is OnUncertain.ASK
    assert options.max_nano_usd == 250_000_000
    written = written_options(options)
    assert list(written) == [line.split(":")[0].strip() for line in text.splitlines()[2:-2]]
    assert scenario(f"run: {written!r}\nexpect: {{ status: done }}".replace("True", "true").replace("False", "false"))
    assert written_options(RunOptions()) == {}
