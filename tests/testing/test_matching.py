"""What an expectation compares, and how a difference is told (L92)."""

from __future__ import annotations

import pytest

from mklang.testing.matching import NeverAsked, same
from tests.testing.documents import NOTE, PAIR, play_text, told

SCRIPT = "llm: { produce: [a, b] }"


def differs(expect: str, document: str = PAIR, script: str = SCRIPT) -> list[str]:
    """What is told of a run, without its ending."""
    found = told(play_text(document, f"{script}\nexpect: {expect}"))
    return found[:-1]


@pytest.mark.rule("L92")
@pytest.mark.parametrize(
    ("expect", "found"),
    [
        ("{ status: halt }", 'status: expected "halt", got "done"'),
        ("{ error: gate-fail }", 'error: expected "gate-fail", got null'),
        ("{ error_prefix: state }", 'error_prefix: expected "state", got null'),
        ("{ result: c }", 'result: expected "c", got "b"'),
        ("{ result: null }", 'result: expected null, got "b"'),
        ("{ at: first }", 'at: expected "first", got null'),
        ("{ ask: why }", 'ask: expected "why", got null'),
        ("{ reply_to: human.reply }", 'reply_to: expected "human.reply", got null'),
        ("{ context: { a: z } }", 'context.a: expected "z", got "a"'),
        ("{ context: { nowhere: z } }", 'context.nowhere: expected "z", got null'),
        ("{ context: { a: null } }", 'context.a: expected null, got "a"'),
        ("{ trace: [{}] }", "trace.length: expected 1, got 2 (states visited: first, second)"),
        ("{ trace: [{}, { state: first }] }", 'trace[1].state: expected "first", got "second"'),
        ("{ trace: [{}, { to: null }] }", 'trace[1].to: expected null, got "END"'),
    ],
)
def test_each_key_of_an_expectation_is_compared(expect: str, found: str) -> None:
    assert differs(expect) == [found]


@pytest.mark.rule("L92")
@pytest.mark.parametrize(
    "expect",
    [
        "{ status: done }",
        "{ error: null }",
        "{ at: null, ask: null, reply_to: null }",
        "{ result: b }",
        "{ context: { a: a, nowhere: null } }",
        "{ trace: [{}, {}] }",
        "{ trace: [{ state: first, to: second, gate_via: otherwise, step: 1 }, { judge_model: null }] }",
    ],
)
def test_what_is_as_expected_is_not_told(expect: str) -> None:
    assert told(play_text(PAIR, f"{SCRIPT}\nexpect: {expect}")) == []


@pytest.mark.rule("L92")
def test_differences_come_in_the_published_order() -> None:
    expect = "{ trace: [], context: { a: z }, at: x, result: c, error: e, status: halt }"
    assert [line.split(":")[0] for line in differs(expect)] == [
        "status", "error", "result", "at", "context.a", "trace.length",
    ]  # fmt: skip


@pytest.mark.rule("L92")
def test_a_trace_of_another_length_is_still_compared_as_far_as_it_goes() -> None:
    assert differs("{ trace: [{ state: x }] }")[1:] == ['trace[0].state: expected "x", got "first"']


@pytest.mark.rule("L92")
def test_the_error_may_be_given_by_its_beginning() -> None:
    script = "llm: { produce: [a], judge: [none] }"
    assert told(play_text(NOTE, f"{script}\nexpect: {{ error_prefix: gate- }}")) == []
    assert differs("{ error_prefix: fail }", NOTE, script) == ['error_prefix: expected "fail", got "gate-fail"']


@pytest.mark.rule("W55", "L92")
def test_any_difference_also_tells_how_the_run_really_ended() -> None:
    played = play_text(NOTE, "llm: { produce: [a], judge: [none] }\nexpect: { result: a }")
    assert told(played)[-1] == 'the run ended: status "halt", error "gate-fail", at state "write"'


def test_expecting_false_of_a_flag_says_that_flags_are_absent() -> None:
    (found,) = differs("{ trace: [{ decision_tainted: false }, {}] }")
    assert found.endswith("a step does not show a flag that is not set; null matches that)")


def test_long_values_are_shown_around_their_first_difference() -> None:
    long = "x" * 3000
    (found,) = differs(f'{{ result: "{long}here{long}" }}', script=f'llm: {{ produce: [a, "{long}there{long}"] }}')
    assert len(found) < 1000
    assert "here" in found
    assert "there" in found


@pytest.mark.rule("L92")
@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ([1, {"a": [None]}], [1, {"a": [None]}], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([True], [1], False),
    ],
)
def test_values_are_equal_as_json_values(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 scripted text was never asked for"), (3, "3 scripted texts were never asked for")],
)
def test_leftovers_are_counted_in_words(count: int, text: str) -> None:
    assert str(NeverAsked("text", count)) == text
