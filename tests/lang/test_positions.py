"""Every part of a machine knows its place, and a question about what is not there is answered with what is nearest."""

from mklang.lang.models import Fail
from mklang.lang.yaml_tree import NOWHERE, Position, compose
from mklang.source import Source, Span
from tests.lang.documents import SMALLEST, machine, smallest


def at(span: Span | None) -> tuple[int, int, int, int] | None:
    return (span.line, span.column, span.end_line, span.end_column) if span else None


def test_keys_and_values_have_their_own_stretch() -> None:
    position = machine(smallest()).at
    assert at(position.key("budget")) == (3, 1, 3, 7)
    assert at(position.value("budget")) == (3, 9, 3, 10)
    assert at(position.value("states", "a", "gates", 0, "to")) == (12, 13, 12, 16)
    assert at(position.child("states", "a").key("prompt")) == (7, 5, 7, 11)


def test_a_state_is_named_by_its_key_and_ends_where_its_last_part_does() -> None:
    state = machine(smallest() + "\n\n# the end\n").states["a"]
    assert at(state.at.name) == (5, 3, 5, 4)
    assert at(state.at.span) == (6, 5, 12, 16)


def test_a_gate_in_braces_spans_its_braces() -> None:
    text = SMALLEST.partition("      - when")[0] + "      - {when: x,\n         fail: true}\n"
    gate = machine(text).states["a"].gates[0]
    assert isinstance(gate.policy, Fail)
    assert at(gate.at.span) == (10, 9, 11, 21)


def test_what_is_not_there_is_answered_with_what_encloses_it() -> None:
    position = machine(smallest()).at
    assert position.value("result") == position.span
    assert position.key("result") == position.span
    assert position.value("states", "a", "gates", 7, "to") == position.value("states", "a", "gates")
    assert position.value("budget", "x") == position.value("budget")


def test_nowhere_has_no_place() -> None:
    assert (NOWHERE.span, NOWHERE.name, NOWHERE.key("x"), NOWHERE.value("x", 0), NOWHERE.raw()) == (None,) * 5


def test_a_value_that_is_not_written_stands_at_its_key() -> None:
    root, _ = compose(Source("m", "a:\nb: 1\n"))
    assert at(Position(root).value("a")) == (1, 1, 1, 2)


def test_columns_count_characters_and_ignore_a_byte_order_mark() -> None:
    root, _ = compose(Source("m", "\ufeffä😀: x\n"))
    assert at(Position(root).value("ä😀")) == (1, 5, 1, 6)


def test_a_merged_key_stands_where_it_was_written() -> None:
    root, _ = compose(Source("m", "a: &a {x: 1, y: 2}\nb:\n  y: 3\n  <<: *a\n"))
    assert at(Position(root).value("b", "x")) == (1, 11, 1, 12)
    assert at(Position(root).value("b", "y")) == (3, 6, 3, 7)


def test_the_text_of_a_scalar_as_written_can_be_found() -> None:
    text = "plain: see # 5\nsingle: 'it''s'\ndouble: \"\\n\"\nliteral: |\n  a\nfolded: >\n  b\nlist: []\n"
    root, _ = compose(Source("m", text))
    position = Position(root)
    found = {key: position.raw(key) for key in ("plain", "single", "double", "literal", "folded", "list")}
    assert {key: raw.style for key, raw in found.items() if raw} == {
        key: key for key in ("plain", "single", "double", "literal", "folded")
    }
    assert [text[raw.start : raw.end] for raw in found.values() if raw][:3] == ["see", "'it''s'", '"\\n"']
    assert found["list"] is None


def test_a_key_that_is_no_text_is_passed_over() -> None:
    root, _ = compose(Source("m", "? [a]\n: 1\nb: 2\n"))
    assert at(Position(root).value("b")) == (3, 4, 3, 5)


def test_a_list_that_ends_with_an_alias_ends_on_its_own_line() -> None:
    root, _ = compose(Source("m", "a: &a {x: 1}\nb:\n  - 1\n  - *a\nc: 1\n"))
    span = Position(root).value("b")
    assert span
    assert span.line == 3
    assert span.end_line in {4, 5}
