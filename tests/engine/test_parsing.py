"""A model's text as JSON: strict, bounded, each refusal with its own words (L47)."""

from __future__ import annotations

import pytest

from mklang.engine.level import StateHalt
from mklang.engine.parsing import parse_output
from mklang.lang.models import Parse


@pytest.mark.rule("L47")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("```json\n[1, 2]\n```", [1, 2]),
        ("```[1]```", [1]),
        ("  null ", None),
        ('"\\ud800"', "\ud800"),
    ],
)
def test_json_is_read_with_or_without_a_code_fence(text: str, value: object) -> None:
    assert parse_output(text, Parse.JSON) == value


@pytest.mark.rule("L47", "W14", "W35", "W36")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a note", "not valid JSON"),
        ('Here: {"a": 1}', "not valid JSON"),
        ("[1, 2", "not valid JSON"),
        ("[1,]", "not valid JSON"),
        ("NaN", "NaN is not JSON"),
        ("[1e999]", "larger than any number"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ("9" * 5000, "too many digits"),
        ("[" * 100_000, "nests deeper"),
        ("[" * 300 + "]" * 300, "nests deeper"),
    ],
)
def test_what_is_not_json_fails_the_state_and_says_why(text: str, says: str) -> None:
    with pytest.raises(StateHalt) as halted:
        parse_output(text, Parse.JSON)
    assert halted.value.error.startswith("state-error: parse-json: ")
    assert says in halted.value.error


@pytest.mark.rule("L47")
def test_a_list_state_takes_nothing_but_a_list() -> None:
    with pytest.raises(StateHalt, match=r"^parse-list: output is JSON but not an array \(got map\)"):
        parse_output("{}", Parse.LIST)
