"""``mklang graph``: what the picture shows of a machine and of a run, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.charts import svg
from mklang.charts.building import MOST_STATES, build_chart
from mklang.charts.mermaid import to_mermaid
from mklang.charts.svg import to_svg
from mklang.cli.main import main
from mklang.engine.outcome import to_wire as outcome_to_wire
from mklang.lang.reader import machine_from_mapping, machine_from_text
from mklang.testing.playing import play_all
from mklang.testing.reading import load_scenarios
from tests.testing.test_suites import PLAIN, TRIAGE

SVG = "{http://www.w3.org/2000/svg}"
CALLER = """\
machine: caller
entry: first
budget: 9
states:
  first:
    call: triage
    output: a
    gates: [{ when: otherwise, then: ok, to: second }]
  second:
    call: triage
    output: b
    gates:
      - { when: never mind, then: ok, to: nowhere }
      - { when: otherwise, then: ok, to: END }
      - { when: dead, fail: true }
  lost:
    call: missing
    output: c
    gates: [{ when: otherwise, escalate: true, to: END }]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))


def write(name: str, text: str) -> str:
    Path(name).write_text(text, "utf-8")
    return name


def drawn(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The picture as JSON."""
    assert main(["graph", *arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def boxes(chart: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Kind and details of each state by label."""
    return {box["label"]: (box["kind"], *box["details"]) for box in chart["boxes"] if box["label"]}


def arrows(chart: dict[str, Any]) -> list[tuple[str, ...]]:
    """Source, policy, target and conditions of each arrow, by labels."""
    names = {box["key"]: box["label"] or box["kind"] for box in chart["boxes"]}
    return [
        (names[one["source"]], one["policy"], names.get(one["target"], one["target"]), *one["labels"])
        for one in chart["arrows"]
    ]


def test_states_have_their_kind_and_gates_their_order_policy_and_condition(capsys: pytest.CaptureFixture[str]) -> None:
    chart = drawn(write("triage.mkl", TRIAGE), capsys=capsys)
    assert boxes(chart) == {
        "read": ("generative",),
        "refund": ("tool", "acts: send_reply"),
        "answer": ("generative",),
        "fail": ("fail",),
        "END": ("end",),
    }
    assert arrows(chart) == [
        ("start", "start", "read"),
        ("read", "ok", "refund", "1. [eq:kind:refund]"),
        ("read", "repair", "read", "2. the word is unclear (repair ×1)"),
        ("read", "ok", "answer", "3. otherwise"),
        ("refund", "ok", "END"),
        ("answer", "fail", "fail", "1. the reply is rude"),
        ("answer", "ok", "END", "2. otherwise"),
    ]


def test_a_called_machine_is_drawn_inside_once(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", TRIAGE)
    chart = drawn(write("caller.mkl", CALLER), capsys=capsys)
    assert [callee["machine"] for callee in chart["callees"]] == ["triage"]
    key = next(box["key"] for box in chart["callees"][0]["boxes"] if box["kind"] == "start")
    calls = [arrow for arrow in arrows(chart) if arrow[1] == "call"]
    assert calls == [("first", "call", key), ("lost", "call", "missing")]


def test_what_is_broken_shows(capsys: pytest.CaptureFixture[str]) -> None:
    chart = drawn(write("caller.mkl", CALLER), "--depth", "0", capsys=capsys)
    found = boxes(chart)
    assert found["nowhere"] == ("missing", "no such state")
    assert found["missing"] == ("missing", "no such machine")
    assert [box["label"] for box in chart["boxes"] if not box["reachable"]] == ["lost"]
    assert [arrow["labels"] for arrow in chart["arrows"] if not arrow["live"]] == [["3. dead"]]


def test_calls_beyond_the_depth_are_one_box(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", TRIAGE)
    chart = drawn(write("caller.mkl", CALLER), "--depth", "0", capsys=capsys)
    assert chart["callees"] == []
    assert boxes(chart)["triage"] == ("machine", "3 states")


def test_a_machine_that_calls_itself_is_drawn_once(capsys: pytest.CaptureFixture[str]) -> None:
    chart = drawn(write("c.mkl", CALLER.replace("call: triage", "call: caller")), "--depth", "9", capsys=capsys)
    assert chart["callees"] == []
    assert ("first", "call", "start") in arrows(chart)


def test_a_picture_has_a_limit() -> None:
    callee = machine_from_text(TRIAGE.replace("machine: triage", "machine: c"))
    states = {
        f"s{number}": {"call": "c", "output": "o", "gates": [{"when": "otherwise", "then": "ok", "to": "END"}]}
        for number in range(MOST_STATES)
    }
    machine = machine_from_mapping({"machine": "m", "entry": "s0", "budget": 9, "states": states})
    assert build_chart(machine, {"c": callee}).callees == ()


def output_of(name: str, *scenarios: str) -> str:
    """A file with the output of a scenario's run."""
    write("x.test.yaml", "scenarios:\n" + "".join(scenarios))
    machine = machine_from_text(Path(name).read_text("utf-8"))
    outcome = play_all(load_scenarios("x.test.yaml").entries, machine, {})[0].outcome
    assert outcome is not None
    return write("run.json", json.dumps(outcome_to_wire(outcome)))


@pytest.mark.rule("L74")
def test_the_way_of_a_run_is_drawn_on_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", TRIAGE)
    repaired = (
        PLAIN.replace("[question,", "[x, question,")
        .replace("judge: [none,", "judge: [0, none,")
        .replace("trace: [", "trace: [{ state: read, to: read }, ")
    )
    chart = drawn("triage.mkl", "--run", output_of("triage.mkl", repaired), capsys=capsys)
    visits = {box["label"]: box["visits"] for box in chart["boxes"] if box["label"]}
    assert visits == {"read": 2, "refund": 0, "answer": 1, "fail": 0, "END": 1}
    taken = {(one["source"], one["target"]): one["taken"] for one in chart["arrows"] if one["taken"]}
    assert sorted(taken.values()) == [[1], [2], [3]]


@pytest.mark.rule("L74")
def test_the_way_through_a_callee_is_drawn_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", TRIAGE)
    write("caller.mkl", CALLER)
    step = {"state": "read", "gate": "otherwise", "gate_via": "otherwise", "policy": "ok", "to": "answer", "step": 1}
    trace = [
        {"state": "first", "gate": "otherwise", "policy": "ok", "to": "second", "step": 2, "sub_trace": [step]},
        {"state": "second", "gate": None, "policy": "call-failed", "to": None, "sub_trace": [[step], None]},
        {"state": "gone"},
        "noise",
    ]
    write("run.json", json.dumps({"trace": trace}))
    chart = drawn("caller.mkl", "--run", "run.json", capsys=capsys)
    inner = chart["callees"][0]
    assert {box["label"]: box["visits"] for box in inner["boxes"]}["read"] == 2
    assert [one["taken"] for one in inner["arrows"] if one["taken"]] == [[1, 3]]
    assert [one["taken"] for one in chart["arrows"] if one["taken"]] == [[2]]


def test_a_kept_run_is_played_again_for_its_way(capsys: pytest.CaptureFixture[str]) -> None:
    document = "machine: m\nentry: a\nbudget: 3\nstates:\n" + "\n".join(
        f"  {name}:\n    tool: calc\n    input: {{ expr: 1+1 }}\n    output: {name}\n"
        f"    gates: [{{ when: otherwise, then: ok, to: {to} }}]"
        for name, to in (("a", "b"), ("b", "END"), ("c", "END"))
    )
    write("m.mkl", document + "\n")
    assert main(["run", "m.mkl", "--checkpoint", "kept.jsonl"]) == 0
    capsys.readouterr()
    chart = drawn("m.mkl", "--run", "kept.jsonl", capsys=capsys)
    assert {box["label"]: box["visits"] for box in chart["boxes"] if box["label"]} == {"a": 1, "b": 1, "c": 0, "END": 1}


@pytest.mark.parametrize(("name", "text"), [("nowhere", None), ("odd.json", '{"a": 1}'), ("empty", "")])
def test_a_run_that_is_none_is_refused(name: str, text: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", TRIAGE)
    if text is not None:
        write(name, text)
    assert main(["graph", "triage.mkl", "--run", name]) == 2
    assert capsys.readouterr().out == ""


def test_a_file_that_holds_no_machine_is_told_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", write("bad.mkl", "machine: x\n")]) == 2
    assert "bad.mkl:1:1: error: missing-key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "begins"),
    [("a.svg", "<?xml"), ("a.gv", "digraph"), ("a.mmd", "flowchart TD"), ("a.json", "{"), ("a.txt", "flowchart TD")],
)
def test_the_files_name_says_which_format(file: str, begins: str) -> None:
    assert main(["graph", write("triage.mkl", TRIAGE), "-o", file]) == 0
    assert Path(file).read_text("utf-8").startswith(begins)


def test_svg_has_every_state_and_every_condition() -> None:
    root = ElementTree.fromstring(to_svg(build_chart(machine_from_text(TRIAGE), {})))
    shown = " ".join("".join(text.itertext()).replace("\u00a0", " ").strip() for text in root.iter(f"{SVG}text"))
    for words in (
        "triage",
        "read",
        "refund",
        "acts: send_reply",
        "1. [eq:kind:refund]",
        "2. the word is unclear",
        "END",
    ):
        assert words in shown


def test_without_graphviz_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(svg, "layout_program", lambda: None)
    assert main(["graph", write("triage.mkl", TRIAGE), "--format", "svg"]) == 2
    assert "pip install 'mklang[graph]'" in capsys.readouterr().err


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(lambda text: text.strip())


@settings(max_examples=40, deadline=None)
@given(state=TEXTS, when=TEXTS, hook=TEXTS)
def test_no_text_of_a_document_breaks_a_picture(state: str, when: str, hook: str) -> None:
    gates = [
        {"when": when, "then": "ok", "to": state},
        {"when": when, "hook": hook, "fail": True},
        {"when": "otherwise", "then": "ok", "to": "END"},
    ]
    states = {state if state != "END" else "x": {"structure": "s", "prompt": "p", "output": "o", "gates": gates}}
    entry = next(iter(states))
    machine = machine_from_mapping({"machine": when, "entry": entry, "budget": 3, "states": states})
    chart = build_chart(machine, {})
    mermaid = to_mermaid(chart)
    assert all(re.fullmatch(r'[^"]*("[^"]*"[^"]*)*', line) for line in mermaid.splitlines())
    ElementTree.fromstring(to_svg(chart))
