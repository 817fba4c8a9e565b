"""The placeholder grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.lang.template import Placeholder, parse_template

PIECES = st.sampled_from(
    ["{{", "}}", "{", "}", "x", "a.b", " ", "\n", "größe", "-", "|", ".", "{{x}}", "{{ y.z }}", "$"]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text()


@pytest.mark.rule("L23")
@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", []),
        ("{{x}}", ["x"]),
        ("{{ x }}", ["x"]),
        ("{{\n x.y \t}}", ["x.y"]),
        ("{{größe}} {{_1}}", ["größe", "_1"]),
        ("{{x}}{{x}}", ["x", "x"]),
        ("{{{n}}}", ["n"]),
        ("{{a-b}} {{ }} {{x|y}} {{x {y}} { {z} }", []),
        ("{{x y}}", []),
    ],
)
def test_a_placeholder_is_a_path_in_double_braces(text: str, paths: list[str]) -> None:
    assert [one.path for one in parse_template(text).placeholders] == paths


def test_a_path_is_split_at_its_dots() -> None:
    (found,) = parse_template("{{a.b.c}}").placeholders
    assert (found.keys, found.root) == (("a", "b", "c"), "a")


@given(TEXTS)
def test_the_parts_put_together_are_the_text(text: str) -> None:
    template = parse_template(text)
    assert "".join(one if isinstance(one, str) else text[one.start : one.end] for one in template.parts) == text


@given(TEXTS)
def test_a_placeholder_stands_where_it_says_and_never_has_an_empty_path(text: str) -> None:
    for one in parse_template(text).placeholders:
        assert text[one.start : one.end].strip("{} \n\t") == one.path.strip() != ""
        assert ".".join(one.keys) == one.path


@given(TEXTS)
def test_parsing_the_literal_parts_again_finds_no_placeholder_that_was_missed(text: str) -> None:
    literals = [one for one in parse_template(text).parts if isinstance(one, str)]
    assert all(not list(parse_template(one).placeholders) for one in literals)


@pytest.mark.parametrize(
    ("text", "path"),
    [("{{x}}", "x"), (" {{ x }}\n", "x"), ("a {{x}}", None), ("{{x}}{{y}}", None), ("", None), ("x", None)],
)
def test_a_sole_placeholder_is_one_with_nothing_but_white_space_around(text: str, path: str | None) -> None:
    sole = parse_template(text).sole
    assert (sole.path if isinstance(sole, Placeholder) else None) == path
