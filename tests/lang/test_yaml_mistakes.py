"""Documents that are no YAML, or not the YAML their author meant: where they are caught and what the author is told."""

import pytest

from tests.lang.documents import hint, message, problems, read, smallest, with_context


@pytest.mark.rule("W39", "W42")
@pytest.mark.parametrize(
    ("text", "problem", "words"),
    [
        pytest.param("a:\n\tb: 2", "yaml-syntax 2:1", "tab", id="a tab at the start of a line"),
        pytest.param("a: 1\n  \tb: 2", "yaml-syntax 2:3", "tab", id="a tab after spaces"),
        pytest.param("a: Reply as: JSON", "yaml-syntax 1:12", "quotes", id="a colon and a space in a text"),
        pytest.param("q: {{x}} and {{y}}", "yaml-syntax 1:10", "quote the whole", id="placeholders and text"),
        pytest.param("a: %x", "yaml-syntax 1:4", "'%'", id="a percent sign first"),
        pytest.param("a: @x", "yaml-syntax 1:4", "'@'", id="an at sign first"),
        pytest.param("a: `x`", "yaml-syntax 1:4", "'`'", id="a backtick first"),
        pytest.param("a: *x", "yaml-alias 1:4", "'*x'", id="an alias of nothing"),
        pytest.param("a: **bold** x", "yaml-syntax 1:4", "'*'", id="bold text"),
        pytest.param("a: & x", "yaml-syntax 1:4", "'&'", id="an ampersand first"),
        pytest.param("a: !e!x y", "yaml-tag 1:4", "quote", id="a tag of an unknown family"),
        pytest.param("a: &x 1\nb: &x 2", "yaml-anchor 2:4", "line 1", id="one anchor twice"),
        pytest.param("a: 1\n---\nb: 2", "yaml-documents 2:1", "second document", id="a second document"),
        pytest.param("a: 1\n---", "yaml-documents 2:1", "second document", id="a separator at the end"),
        pytest.param("a: 1\n...\nb: 2", "yaml-documents 3:1", "second document", id="text after the end"),
        pytest.param("%YAML 9.9\n---\na: 1", "yaml-version 1:1", "%YAML", id="a YAML of the future"),
        pytest.param("%FOO 1\n---\na: 1", "yaml-syntax 1:5", "directive", id="an unknown directive"),
        pytest.param("%", "yaml-syntax 1:2", "directive", id="a percent sign alone"),
        pytest.param('a: "x', "yaml-syntax 1:4", "never closed", id="an open quote"),
        pytest.param('a: "x\n---\n"', "yaml-syntax 1:4", "never closed", id="a separator inside quotes"),
        pytest.param("a: [1, 2", "yaml-syntax 1:4", "']'", id="an open bracket"),
        pytest.param("a: {b: 1", "yaml-syntax 1:4", "'}'", id="an open brace"),
        pytest.param("a: {b: c: d}", "yaml-syntax 1:9", "quotes", id="a colon in a flow map"),
        pytest.param("a: ]", "yaml-syntax 1:4", "']'", id="a bracket that closes nothing"),
        pytest.param("a: [[", "yaml-syntax 1:5", "close", id="brackets to the end"),
        pytest.param('a: "x" y', "yaml-syntax 1:8", "inside the quotes", id="text after a quote"),
        pytest.param("a: [b]c", "yaml-syntax 1:7", "bracket", id="text after a bracket"),
        pytest.param(r'a: "\q"', "yaml-syntax 1:5", "backslash", id="an unknown escape"),
        pytest.param(r'a: "\ud800"', "yaml-syntax 1:7", "the character itself", id="half of a surrogate pair, escaped"),
        pytest.param("a: b\nc d\ne: f", "yaml-syntax 2:1", "':'", id="a key without its colon"),
        pytest.param("a:b\nc: d", "yaml-syntax 2:1", "space after", id="a colon without its space"),
        pytest.param("a: 1\n  b: 2", "yaml-syntax 2:3", "too deeply", id="a key indented too deeply"),
        pytest.param("a:\n  b: 1\n c: 2", "yaml-syntax 3:2", "indentation", id="a key indented between two levels"),
        pytest.param("a: 1\n- b", "yaml-syntax 2:1", "indent the list", id="a list among keys"),
        pytest.param("- a\nb: 1", "yaml-syntax 2:1", "list item", id="a key among list items"),
        pytest.param("a: - x", "yaml-syntax 1:4", "next line", id="a list on the line of its key"),
        pytest.param("a: > 5 items", "yaml-syntax 1:6", "quote", id="a greater-than sign first"),
        pytest.param("a: |\n x\ny", "yaml-syntax 3:1", "indent", id="a block that lost its indentation"),
    ],
)
def test_a_syntax_error_has_its_place_and_plain_words(text: str, problem: str, words: str) -> None:
    assert problems(text) == [problem]
    assert words in f"{message(text)} ({hint(text)})"


@pytest.mark.rule("L1")
@pytest.mark.parametrize("character", ["\0", "\x01", "\x0b", "\x7f", "\x9f", "\ud800", "\udfff", "\ufffe"])
def test_a_character_that_no_document_may_hold_is_named_with_its_place(character: str) -> None:
    text = f"machine: ä😀\nentry: x{character}\n"
    assert problems(text) == ["bad-character 2:9"]
    assert f"U+{ord(character):04X}" in message(text)


def test_an_escaped_null_character_is_text() -> None:
    assert problems(smallest("Say hello.", r'"a\0b"')) == []


@pytest.mark.parametrize("text", ["- a", "just text", "5", "[]", "~", "---", "{{x}}"])
def test_a_document_that_is_no_map_is_no_machine(text: str) -> None:
    assert {"not-a-machine", "bad-key"} & {one.split()[0] for one in problems(text)}


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff"])
def test_an_empty_document_is_said_to_be_empty(text: str) -> None:
    assert problems(text) == ["not-a-machine"]
    assert "empty" in message(text)


@pytest.mark.parametrize("prefix", ["\ufeff", "# a comment\n", "---\n", "%YAML 1.1\n---\n"])
def test_what_may_stand_before_a_document_may_stand_before_a_machine(prefix: str) -> None:
    assert read(prefix + smallest()).machine


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_every_line_end_reads_the_same(end: str) -> None:
    assert read(smallest().replace("\n", end)).machine == read(smallest()).machine
    assert problems(smallest("budget: 5", "budget: x").replace("\n", end)) == ["wrong-type 3:9"]


@pytest.mark.rule("W40")
@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        (smallest("budget: 5", "budget: 5\nmachine: n"), "duplicate-key 4:1", "line 1"),
        (smallest("  a:", "  a: {}\n  a:"), "duplicate-key 6:3", "line 5"),
        (smallest("    output: o", "    output: o\n    output: p"), "duplicate-key 9:5", "line 8"),
        (with_context("{a: 1, b: 2, a: 3}"), "duplicate-key 1:23", "line 1"),
        (smallest("        to: END", "        to: END\n        when: x"), "duplicate-key 13:9", "line 10"),
    ],
)
def test_a_key_written_twice_is_an_error_that_names_both_lines(text: str, problem: str, line: str) -> None:
    assert problem in problems(text)
    (found,) = [one for one in read(text).diagnostics if one.code == "duplicate-key"]
    assert line in found.message


@pytest.mark.parametrize(
    ("written", "problem"),
    [("{{ x }}", "wrong-type 7:13"), ("{name}", "wrong-type 7:13"), ("[x]", "wrong-type 7:13")],
)
def test_a_prompt_in_brackets_wants_quotes(written: str, problem: str) -> None:
    text = smallest("Say hello.", written)
    assert problems(text) == [problem]
    assert "quotes" in hint(text)


def test_a_placeholder_without_quotes_in_the_context_wants_quotes() -> None:
    text = with_context("{a: {{ x }}}")
    assert problems(text) == ["bad-key 1:15"]
    assert "quotes" in hint(text)


@pytest.mark.parametrize("written", ["{name}", "{a:b}", "{a, b}"])
def test_a_map_whose_keys_have_no_values_is_pointed_out(written: str) -> None:
    text = with_context(f"{{x: {written}}}")
    assert problems(text) == ["~unquoted-braces 1:14"]
    assert "quote" in hint(text)


def test_a_list_as_a_key_is_an_error() -> None:
    assert problems(with_context("{? [a] : b}")) == ["bad-key 1:13"]
