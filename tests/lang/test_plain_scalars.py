"""What is written without quotes, and what it becomes in each kind of place (hazards of YAML authoring)."""

import pytest

from mklang.lang.models import Generative, Tool
from tests.lang.documents import hint, machine, message, problems, read, smallest, with_context, with_state

SCALAR_LIKE_TEXTS = [
    *("no", "off", "on", "Yes", "y", "n", "010", "08", "12:30", "12:30:00", "1_000", "0x1F", "0o17", "0b1"),
    *("1e3", "4e10", "1234e5678", "2026-01-02", "2026-01-02T10:00:00Z", ".nan", ".inf", "see#1", "=", "1.2.3"),
]


@pytest.mark.rule("L1")
@pytest.mark.parametrize("written", SCALAR_LIKE_TEXTS)
def test_text_is_the_characters_as_written(written: str) -> None:
    state = machine(smallest("One line.", written)).states["a"]
    assert isinstance(state, Generative)
    assert state.structure == written


@pytest.mark.rule("L1")
@pytest.mark.parametrize(
    "written", ["~", "null", "Null", "NULL", "true", "False", "TRUE", "0", "123", "-1", "0.4", "1.10"]
)
def test_text_that_json_reads_otherwise_must_be_quoted(written: str) -> None:
    text = smallest("One line.", written)
    assert problems(text) == ["wrong-type 6:16"]
    assert f'"{written}"' in hint(text)
    assert problems(smallest("One line.", f'"{written}"')) == []


def test_an_empty_prompt_is_reported_at_its_key() -> None:
    text = smallest(" Say hello.", "")
    assert problems(text) == ["wrong-type 7:5"]
    assert "nothing" in message(text)
    assert '""' in hint(text)


@pytest.mark.parametrize("written", ['""', "''"])
def test_empty_text_in_quotes_is_a_prompt(written: str) -> None:
    assert problems(smallest("Say hello.", written)) == []


@pytest.mark.rule("L3")
def test_a_version_without_quotes_is_a_number_and_refused() -> None:
    text = "mklang: 0.4\n" + smallest()
    assert problems(text) == ["wrong-type 1:9"]
    assert hint(text) == 'quote it: "0.4"'


@pytest.mark.rule("W41")
@pytest.mark.parametrize("written", ["on", "no", "1", "~", "null", "2026-01-02", "tweeën", "two words", "😀"])
def test_a_state_id_is_the_characters_as_written(written: str) -> None:
    text = smallest("entry: a", f'entry: "{written}"').replace("  a:", f"  {written}:")
    assert list(machine(text).states) == [written]


@pytest.mark.rule("W41")
def test_two_keys_that_older_readers_take_for_one_boolean_stay_two() -> None:
    assert dict(machine(with_context("{on: x, yes: z, y: w}")).context) == {"on": "x", "yes": "z", "y": "w"}


@pytest.mark.rule("L1", "W20")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("~", None), ("null", None), ("true", True), ("FALSE", False), ("5", 5), ("-5", -5), ("+5", 5), ("0", 0)),
        *(("1.10", 1.1), ("-0.5", -0.5), (".5", 0.5), ("1.5e+3", 1500.0), ("5.0", 5.0)),
        *(("12:30", "12:30"), ("2026-01-02", "2026-01-02"), ("1e3", "1e3"), ("y", "y"), ("dog:cat", "dog:cat")),
        *(('"no"', "no"), ("'010'", "010"), ("!!str no", "no"), ("!!str 5", "5"), ("!!float 5", 5.0), ("!!int 5", 5)),
    ],
)
def test_a_free_value_is_json_or_text(written: str, value: object) -> None:
    text = with_context(f"{{a: {written}}}")
    found = machine(text).context["a"]
    assert found == value
    assert type(found) is type(value)
    assert problems(text) == []


@pytest.mark.rule("L1")
@pytest.mark.parametrize("written", ["no", "No", "NO", "yes", "Yes", "on", "ON", "off", "Off"])
def test_a_free_value_that_older_readers_take_for_a_boolean_is_refused(written: str) -> None:
    text = with_context(f"{{a: {written}}}")
    assert problems(text) == ["ambiguous-scalar 1:14"]
    assert ("true" if written.lower() in {"yes", "on"} else "false") in hint(text)


@pytest.mark.rule("L1")
@pytest.mark.parametrize("written", ["010", "08", "-07", "1_000", "1_0.5", "0x1F", "0o17", "0b101"])
def test_a_free_value_that_other_readers_take_for_a_number_is_text_with_a_warning(written: str) -> None:
    text = with_context(f"{{a: {written}}}")
    assert problems(text) == ["~ambiguous-scalar 1:14"]
    assert machine(text).context["a"] == written


@pytest.mark.rule("W20")
@pytest.mark.parametrize(
    ("written", "problem"),
    [
        *((one, "not-json 1:14") for one in (".nan", ".NaN", ".inf", "-.inf", "1.0e+999", "9" * 301)),
        *((f"!!{tag} x", "yaml-tag 1:14") for tag in ("binary", "timestamp", "python/name:os.system", "omap")),
        *(("!local x", "yaml-tag 1:14"), ("!!set {x}", "yaml-tag 1:14"), ("!!int x", "yaml-tag 1:14")),
        *(("!!null x", "yaml-tag 1:14"), ("!!bool yes", "yaml-tag 1:14"), ("!!seq {}", "yaml-tag 1:14")),
        ("!!python/object/apply:os.system [x]", "yaml-tag 1:14"),
    ],
)
def test_what_json_cannot_hold_is_an_error_at_its_place(written: str, problem: str) -> None:
    assert problems(with_context(f"{{a: {written}}}")) == [problem]


def test_a_tag_can_make_text_of_what_would_be_a_number() -> None:
    state = machine(smallest("One line.", "!!str 5")).states["a"]
    assert isinstance(state, Generative)
    assert state.structure == "5"
    assert problems(smallest("One line.", "!!int 5")) == ["wrong-type 6:16"]


def test_a_key_with_a_foreign_tag_is_an_error() -> None:
    assert problems(with_context("{!x a: 1, !!str b: 2}")) == ["yaml-tag 1:11"]


def test_a_tagged_text_that_looks_like_a_tag_is_quoted_instead() -> None:
    text = smallest("Say hello.", "!important text")
    assert problems(text) == ["yaml-tag 7:13"]
    assert "quote" in hint(text)


@pytest.mark.rule("W38")
@pytest.mark.parametrize(("written", "value"), [("5", 5), ("5.0", 5), ("+5", 5), ("1000000000", 10**9), ("!!int 5", 5)])
def test_an_integer_field_takes_whole_numbers(written: str, value: int) -> None:
    budget = machine(smallest("budget: 5", f"budget: {written}")).budget
    assert budget == value
    assert type(budget) is int


@pytest.mark.rule("W38")
@pytest.mark.parametrize(
    ("written", "problem", "words"),
    [
        ("true", "wrong-type", "boolean"),
        ('"5"', "wrong-type", "without quotes"),
        ("010", "wrong-type", "leading zeros"),
        ("1:30", "wrong-type", "colons"),
        ("1_000", "wrong-type", "write 1000"),
        ("0x1F", "wrong-type", "decimal"),
        ("1e3", "wrong-type", "all the digits"),
        ("5.5", "wrong-type", "5.5"),
        ("five", "wrong-type", "whole number"),
        ("[5]", "wrong-type", "a list"),
        ("", "wrong-type", "nothing"),
        ("~", "wrong-type", "null"),
        ("0", "bad-value", "from 1"),
        ("-1", "bad-value", "from 1"),
        ("1000000001", "bad-value", "1,000,000,000"),
        ("9" * 5000, "bad-value", "1,000,000,000"),
        ("1.0e+30", "bad-value", "1,000,000,000"),
    ],
)
def test_an_integer_field_refuses_the_rest_and_says_why(written: str, problem: str, words: str) -> None:
    (found,) = read(smallest("budget: 5", f"budget: {written}")).diagnostics
    assert found.code == problem
    assert words in f"{found.message} {found.hint}"


@pytest.mark.rule("L1")
@pytest.mark.parametrize(
    ("written", "words"),
    [("yes", "write true"), ("off", "write false"), ('"true"', "without quotes"), ("1", "number"), ("", "nothing")],
)
def test_a_boolean_field_takes_true_and_false_only(written: str, words: str) -> None:
    (found,) = read(smallest("    output: o", f"    output: o\n    reason: {written}")).diagnostics
    assert found.code == "wrong-type"
    assert words in f"{found.message} {found.hint}"


def test_a_folded_text_keeps_its_paragraphs_and_its_last_line_end() -> None:
    state = machine(smallest("Say hello.", ">\n      one\n      two\n\n      three")).states["a"]
    assert isinstance(state, Generative)
    assert state.prompt.text == "one two\nthree\n"


def test_backslash_n_in_plain_text_is_two_characters() -> None:
    state = machine(smallest("Say hello.", r"one\ntwo")).states["a"]
    assert isinstance(state, Generative)
    assert state.prompt.text == r"one\ntwo"


def test_texts_directly_under_input_are_templates_and_everything_else_is_a_literal() -> None:
    text = with_state(
        "tool: t\ninput: {a: 'x {{y}}', b: 5, c: ['{{y}}'], d: ~, on: true}\n"
        "output: o\ngates: [{when: otherwise, then: ok, to: END}]"
    )
    state = machine(text).states["a"]
    assert isinstance(state, Tool)
    found = {one.name: one.value for one in state.input}
    assert [one.path for one in found["a"].placeholders] == ["y"]  # type: ignore[union-attr]
    assert {name: found[name] for name in "bcd"} == {"b": 5, "c": ("{{y}}",), "d": None}
    assert found["on"] is True
