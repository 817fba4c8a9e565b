"""What a person hands to a run: ``--set`` and input files become context paths with values (L112)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.errors import DocumentError, UsageError
from mklang.host.inputs import merged, nothing_given, parse_assignments, read_inputs, undeclared
from mklang.host.layers import BUNDLED
from mklang.lang.reader import machine_from_text, read_file
from mklang.lang.values import Json
from tests.cli.test_check import GOOD


@pytest.mark.rule("L112")
@pytest.mark.parametrize(
    ("item", "inputs"),
    [
        ("a=text", {"a": "text"}),
        ("a=", {"a": ""}),
        ("a==b=c", {"a": "=b=c"}),
        ("a=007", {"a": "007"}),
        ("a=7", {"a": 7}),
        ("a=-1.5e3", {"a": -1500.0}),
        ("a=true", {"a": True}),
        ("a=True", {"a": "True"}),
        ("a=null", {"a": None}),
        ('a="7"', {"a": "7"}),
        ('a=[1, {"b": "é"}]', {"a": [1, {"b": "é"}]}),
        ("a.b.c=1", {"a.b.c": 1}),
        ("my key=1", {"my key": 1}),
        (" a=1", {" a": 1}),
    ],
)
def test_a_value_is_json_where_it_reads_as_json(item: str, inputs: dict[str, Json]) -> None:
    assert parse_assignments([item]) == (inputs, ())


@pytest.mark.rule("L112", "W14")
@pytest.mark.parametrize(
    "item",
    [
        "a",
        "",
        "=1",
        "  =1",
        "a..b=1",
        ".a=1",
        "a.=1",
        "a=NaN",
        "a=[Infinity]",
        "a=1e999",
        "a=" + "9" * 301,
        "a=" + "[" * 101 + "]" * 101,
        "a=" + "[" * 100_000,
        'a={"b": 1, "b": 2}',
        "a=\udce9",
        "\udce9=1",
    ],
)
def test_what_means_nothing_or_two_things_is_refused(item: str) -> None:
    with pytest.raises(UsageError):
        parse_assignments([item])


@pytest.mark.rule("L112")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_passed_or_refused(text: str) -> None:
    try:
        inputs, _ = parse_assignments([f"a={text}"])
    except UsageError:
        return
    assert list(inputs) == ["a"]


def test_a_list_that_is_no_json_is_passed_as_text_with_a_warning() -> None:
    inputs, warnings = parse_assignments(["a=[one, two]", "b=[EXT] hello"])
    assert inputs == {"a": "[one, two]", "b": "[EXT] hello"}
    assert [found.code for found in warnings] == ["input-as-text"]


def test_a_later_value_replaces_an_earlier_one_and_what_is_below_it() -> None:
    assert list(parse_assignments(["a.b=1", "c=2", "a=3"])[0].items()) == [("c", 2), ("a", 3)]
    assert list(parse_assignments(["a=1", "a.b=2", "ab=3"])[0].items()) == [("a", 1), ("a.b", 2), ("ab", 3)]
    assert merged({"a": 1, "b": 1}, {"a": 2}) == {"b": 1, "a": 2}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in.json", '{"a": "x", "n": 1e3, "m": {"k": [true, null]}}'),
        ("in.JSON", '\ufeff{"a": "x", "n": 1000.0, "m": {"k": [true, null]}}'),
        ("in.yaml", "a: x\nn: 1000.0\nm: {k: [true, null]}\n"),
        ("in.yml", '{"a": "x", "n": 1000.0, "m": {"k": [true, null]}}'),
    ],
)
def test_inputs_come_from_json_or_yaml(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert read_inputs(str(tmp_path / name)) == {"a": "x", "n": 1000.0, "m": {"k": [True, None]}}


def test_yaml_inputs_are_read_as_plainly_as_machines(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text("day: 2024-01-02\nzip: 01234\nversion: 1.10\n", "utf-8")
    assert read_inputs(str(tmp_path / "in.yaml")) == {"day": "2024-01-02", "zip": "01234", "version": 1.1}


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("in.json", '{"a":\n 1,}', "json-syntax", 2),
        ("in.json", "[1]", "not-inputs", None),
        ("in.json", '{"a": NaN}', "not-json", None),
        ("in.json", '{"a": 1, "a": 2}', "not-json", None),
        ("in.yaml", "a: [1", "yaml-syntax", 1),
        ("in.yaml", "a: 1\na: 2\n", "duplicate-key", 2),
        ("in.yaml", "- 1\n", "not-inputs", None),
        ("in.yaml", "", "not-inputs", None),
    ],
)
def test_a_bad_input_file_is_reported_at_its_place(
    name: str, text: str, code: str, line: int | None, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(DocumentError) as caught:
        read_inputs(str(tmp_path / name))
    found = caught.value.diagnostics[0]
    assert (found.code, found.span.line if found.span else None) == (code, line)


@pytest.mark.rule("W60")
def test_an_input_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.json, \.yaml, \.yml"):
        read_inputs(str(tmp_path / "in.txt"))
    (tmp_path / "folder.json").mkdir()
    for name, code in (("missing.json", "file-missing"), ("folder.json", "file-is-directory")):
        with pytest.raises(DocumentError) as caught:
            read_inputs(str(tmp_path / name))
        assert [found.code for found in caught.value.diagnostics] == [code]


def test_an_input_nobody_reads_is_a_warning_at_the_context_with_the_nearest_key() -> None:
    machine = machine_from_text(GOOD.replace("{{topic}}", "{{topic}} {{extra.part}}"), "good.mkl")
    found = undeclared(machine, {"topc": 1, "topic.sub": 2, "extra": 3, "else": json.loads("4")})
    assert [(one.code, one.span and one.span.line, one.hint) for one in found] == [
        ("unknown-input", 4, "did you mean 'topic'?"),
        ("unknown-input", 4, "it declares topic"),
    ]


def test_a_machine_without_a_context_says_nothing_about_its_inputs() -> None:
    machine = machine_from_text(GOOD.replace("context: { topic: tea }\n", ""))
    assert undeclared(machine, {"anything": 1}) == ()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("std_cot", "reads 'task', which is empty"),
        ("std_map", "reads 'task', 'items', which is empty"),
        ("std_tot", "reads 'task', which is empty"),  # not 'best', which a state writes
        ("std_approval", "reads 'task', which is empty"),  # nor 'approval', which a person gives
    ],
)
def test_a_machine_that_was_given_nothing_says_what_it_reads(name: str, told: str) -> None:
    machine = read_file(str(BUNDLED / f"{name}.mkl")).machine
    assert machine is not None
    (found,) = nothing_given(machine, {})
    assert told in found.message
    assert nothing_given(machine, {"task": "x"}) == ()


def test_a_machine_with_values_of_its_own_needs_nothing() -> None:
    machine = read_file(str(Path(__file__).parents[2] / "examples/ticket_triage.mkl")).machine
    assert machine is not None
    assert nothing_given(machine, {}) == ()
