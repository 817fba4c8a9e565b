"""Anchors, aliases and merge keys work; documents that would eat the reader are refused before they are expanded."""

import pytest

from mklang.lang.models import Ok
from tests.lang.documents import machine, problems, read, smallest, with_context


@pytest.mark.rule("L1")
def test_an_alias_stands_for_what_its_anchor_names() -> None:
    assert machine(with_context("{a: &x [1, {b: 2}], c: *x}")).context["c"] == (1, {"b": 2})


@pytest.mark.rule("L1")
def test_gates_can_be_shared_between_states_and_a_problem_in_them_is_reported_once() -> None:
    text = smallest("    gates:", "    gates: &g").replace("        then: ok\n", "        repair: 0\n")
    text += "  b: {structure: s, prompt: p, output: q, gates: *g}\n"
    assert problems(text) == ["bad-value 11:17"]
    assert list(machine(text.replace("repair: 0", "repair: 2")).states) == ["a", "b"]


@pytest.mark.rule("L1")
def test_explicit_keys_win_over_merged_ones_and_earlier_merges_over_later() -> None:
    context = machine(with_context("{p: &p {a: 1, b: 1, c: 1}, q: &q {b: 2, d: 2}, r: {c: 3, <<: [*q, *p]}}")).context
    assert context["r"] == {"a": 1, "b": 2, "c": 3, "d": 2}


def test_a_state_made_by_merging_knows_the_places_of_its_parts() -> None:
    text = smallest("  a:", "  a: &a") + "  b:\n    <<: *a\n    output: [p]\n"
    assert problems(text) == ["wrong-type 15:13"]
    state = machine(text.replace("[p]", "p")).states["b"]
    assert state.output == "p"
    assert state.gates[0].policy == Ok("END")
    assert state.at.key("prompt").line == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(("written", "problem"), [("5", "bad-merge 1:21"), ("[{}, 5]", "bad-merge 1:26")])
def test_only_maps_can_be_merged(written: str, problem: str) -> None:
    assert problems(with_context(f'{{"a": {{<<: {written}}}}}')) == [problem]


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert machine(with_context('{"<<": 5}')).context["<<"] == 5


@pytest.mark.rule("W17", "W20")
@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("&a {b: *a}", "yaml-cycle 1:10"),
        ("&a {b: [1, {c: *a}]}", "yaml-cycle 1:10"),
        ("{x: &x [*x]}", "yaml-cycle 1:14"),
        ("&a {<<: *a}", "yaml-cycle 1:10"),
        ("&a {? *a : 1}", "yaml-cycle 1:10"),
    ],
)
def test_a_structure_that_contains_itself_is_refused(written: str, problem: str) -> None:
    assert problems(with_context(written)) == [problem]


def chain(levels: int, width: int) -> str:
    """A bomb: every level holds the one before ``width`` times."""
    steps = ", ".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels))
    return with_context(f"{{a0: &a0 [x], {steps}}}")


@pytest.mark.rule("W17")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(chain(9, 9), id="nine levels of nine"),
        pytest.param(chain(21, 2), id="twenty-one levels of two"),
        pytest.param(chain(90, 2), id="ninety levels of two"),
        pytest.param(with_context("{a: &a " + "x" * 100_000 + ", b: [" + "*a, " * 10_000 + "]}"), id="a long text"),
    ],
)
def test_a_document_that_explodes_when_expanded_is_refused(text: str) -> None:
    assert [one.split()[0] for one in problems(text)] == ["yaml-expansion"]


def test_a_chain_of_aliases_counts_as_deep_as_it_expands() -> None:
    assert [one.split()[0] for one in problems(chain(150, 1))] == ["yaml-depth"]


def test_a_few_shared_parts_are_no_bomb() -> None:
    assert machine(chain(12, 2)).context["a11"]


@pytest.mark.parametrize("depth", [101, 500, 3000])
@pytest.mark.parametrize(("left", "right"), [("[", "]"), ("{a: ", "}")])
def test_nesting_too_deep_is_refused(depth: int, left: str, right: str) -> None:
    text = with_context(f"{left * depth}1{right * depth}")
    assert [one.split()[0] for one in problems(text)] == ["yaml-depth"]


def test_ninety_nine_levels_below_the_root_are_fine() -> None:
    assert read(with_context("{a: " * 99 + "1" + "}" * 99)).machine


def test_a_large_document_without_aliases_is_only_bounded_by_its_size() -> None:
    lines = "".join(f"  - item number {number}\n" for number in range(250_000))
    assert len(lines) > 5_000_000
    assert len(machine(f"context:\n list:\n{lines}{smallest()}").context["list"]) == 250_000  # type: ignore[arg-type]


def test_a_document_above_the_size_limit_is_refused() -> None:
    assert problems("# " + "x" * 8 * 1024 * 1024) == ["file-too-large"]


def test_a_document_with_countless_mistakes_reports_a_thousand() -> None:
    found = problems("".join(f"a{number}: 1\n" for number in range(3000)))
    assert found[0] == "too-many-problems"
    assert len(found) == 1001


def test_warnings_never_crowd_out_an_error() -> None:
    text = with_context("{a: [" + "010, " * 1500 + "], b: no}")
    assert "ambiguous-scalar" in [one.split()[0] for one in problems(text)]
    assert read(text).machine is None
