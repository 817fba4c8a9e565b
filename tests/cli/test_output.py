"""What reaches a terminal, a pipe or a file (L108, W12, W13)."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.cli.output import Ink, one_line, printable, to_json, write

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
SURROGATES = st.text(alphabet=st.characters(min_codepoint=0xD7F0, max_codepoint=0xE00F, exclude_categories=()))


class Terminal(io.StringIO):
    """A stream somebody watches."""

    def isatty(self) -> bool:
        return True


@pytest.mark.rule("W12")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, \ttabs\nand lines", "plain, \ttabs\nand lines"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]8;;http://x\x07link", "\\x1b]8;;http://x\\x07link"),
        ("over\rwritten, dos\r\nline", "over\\x0dwritten, dos\nline"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("half \ud800", "half \\ud800"),
        ("日本語 é 👩‍👩‍👧 [/foo] [red]", "日本語 é 👩‍👩‍👧 [/foo] [red]"),
    ],
)
def test_what_a_terminal_would_obey_is_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_one_line_is_one_line_and_marks_its_cut() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


@pytest.mark.rule("L108", "W13")
@given(ANY | SURROGATES | st.lists(SURROGATES))
def test_json_keeps_every_value_and_can_be_encoded(value: object) -> None:
    for terminal in (False, True):
        text = to_json(value, terminal=terminal)
        assert json.loads(text.encode("utf-8")) == json.loads(json.dumps(value))
        assert not terminal or printable(text) == text


def test_json_is_indented_by_two_and_keeps_letters() -> None:
    assert to_json({"b": ["é"], "a": 1}) == '{\n  "b": [\n    "é"\n  ],\n  "a": 1\n}'


@pytest.mark.rule("W14")
def test_a_number_json_cannot_hold_costs_no_result() -> None:
    assert json.loads(to_json({"result": [float("nan"), float("-inf"), 1.5]})) == {"result": ["nan", "-inf", 1.5]}


def test_a_stream_without_a_letter_gets_an_escape() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write(stream, "naïve \ud800")
    assert stream.buffer.getvalue() == b"na\\xefve \\ud800"  # type: ignore[attr-defined]


@pytest.mark.rule("L106")
@pytest.mark.parametrize(
    ("choice", "environment", "on"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": ""}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"TERM": "dumb"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {}, False),
    ],
)
def test_colour_on_a_terminal(
    choice: str, environment: dict[str, str], on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Ink(Terminal(), choice).on is on
    assert not Ink(io.StringIO(), "auto").on


def test_long_lines_are_folded_for_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    text = "one two three four five six seven"
    assert Ink(Terminal(), "never").fold(text) == "one two three four\n  five six seven"
    assert Ink(io.StringIO(), "never").fold(text) == text
