"""Many scripts at once: found beside their machines, chosen by words, counted by what they take (L114)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mklang.cli.main import main
from mklang.errors import UsageError
from mklang.testing.choosing import parse_choice

TRIAGE = """\
machine: triage
entry: read
budget: 9
result: reply
context: { mail: "" }
states:
  read:
    structure: One word.
    prompt: "What is this? {{mail}}"
    output: kind
    gates:
      - { when: it is a refund, hook: "eq:kind:refund", then: ok, to: refund }
      - { when: the word is unclear, repair: 1, to: read }
      - { when: otherwise, then: ok, to: answer }
  refund:
    tool: send_reply
    input: { body: sorry }
    output: reply
    gates: [{ when: otherwise, then: ok, to: END }]
  answer:
    structure: A reply.
    prompt: "Answer {{mail}}"
    output: reply
    gates:
      - { when: the reply is rude, fail: true }
      - { when: otherwise, then: ok, to: END }
"""
PLAIN = """\
  - name: a question is answered
    llm: { produce: [question, hello], judge: [none, none] }
    expect: { status: done, trace: [{ state: read, to: answer }, { state: answer, to: END }] }
"""
REFUND = """\
  - name: a refund is sent
    llm: { produce: [refund], judge: [] }
    tools: { send_reply: [sent] }
    expect: { status: done, trace: [{ state: read, to: refund }, { state: refund, to: END }] }
"""
LAZY = """\
  - name: it ends somehow
    llm: { produce: [question, hello], judge: [none, none] }
    expect: { status: done }
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, *scenarios: str, machine: str = "") -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(machine or "scenarios:\n" + "".join(scenarios), "utf-8")
    return path


def played(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON document."""
    code = main(["test", *arguments, "--format", "json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, json.loads(captured.out)


def pairs(wire: dict[str, Any]) -> list[tuple[str, str]]:
    """The machine and the script of each scenario."""
    return [(item["machine"], item["script"]) for item in wire["items"]]


@pytest.mark.rule("L114")
def test_scripts_are_found_beside_their_machines(capsys: pytest.CaptureFixture[str]) -> None:
    write("flows/triage.mkl", machine=TRIAGE)
    write("flows/b.mk", machine=TRIAGE.replace("machine: triage", "machine: b"))
    write("flows/triage.test.yaml", PLAIN)
    write("flows/triage.refunds.test.yml", REFUND)
    write("flows/tests/b.test.yaml", PLAIN)
    code, wire = played("flows", capsys=capsys)
    assert code == 0
    both = [
        ("flows/triage.mkl", "flows/triage.refunds.test.yml"),
        ("flows/triage.mkl", "flows/triage.test.yaml"),
        ("flows/b.mk", "flows/tests/b.test.yaml"),
    ]
    assert pairs(wire) == both
    assert pairs(played("flows/triage.mkl", "flows/tests/b.test.yaml", capsys=capsys)[1]) == both
    assert pairs(played("flows/b.mk", capsys=capsys)[1]) == both[2:]
    assert pairs(played("flows/b.mk", "flows/b.mk", "flows/tests", capsys=capsys)[1]) == both[2:]


@pytest.mark.rule("L107")
@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("nowhere", "file-missing"),
        ("nowhere.test.yaml", "file-missing"),
        ("empty", "no-scenarios"),
        ("alone.mkl", "no-scenarios"),
        ("lost.test.yaml", "file-missing"),
    ],
)
def test_a_target_without_its_counterpart_is_bad_input_and_stops_no_other(
    target: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    write("alone.mkl", machine=TRIAGE)
    write("lost.test.yaml", PLAIN)
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", PLAIN)
    exit_code, wire = played(target, "triage.mkl", capsys=capsys)
    assert exit_code == 2
    assert [(found["code"], found["path"]) for found in wire["diagnostics"]] == [(code, target)]
    assert [item["status"] for item in wire["items"]] == ["pass"]


def test_several_scripts_are_told_under_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.a.test.yaml", PLAIN)
    write("triage.b.test.yaml", REFUND.replace("[refund]", "[other]"), LAZY)
    assert main(["test", "triage.mkl"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["triage.a.test.yaml", "PASS a question is answered", "triage.b.test.yaml"]
    assert lines[-1] == "3 scenarios in 2 scripts: 2 passed, 1 failed"


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("refund", ["a refund is sent"]),
        ("A and SENT", ["a refund is sent"]),
        ("question somehow", []),
        ("question or somehow", ["a question is answered", "it ends somehow"]),
        ("not (question or refund)", ["it ends somehow"]),
        ("'is answered'", ["a question is answered"]),
        ("not not refund", ["a refund is sent"]),
        ("triage.test and ends", ["it ends somehow"]),
    ],
)
def test_scenarios_are_chosen_by_words(expression: str, chosen: list[str]) -> None:
    names = ["a question is answered", "a refund is sent", "it ends somehow"]
    choice = parse_choice(expression)
    assert [name for name in names if choice(f"triage.test.yaml::{name}")] == chosen


@pytest.mark.parametrize("expression", ["", "and", "a and", "a or or b", "(a", "a)", "not", "'a"])
def test_an_expression_that_says_nothing_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="-k"):
        parse_choice(expression)


def test_choosing_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", PLAIN, REFUND)
    assert main(["test", "triage.mkl", "-k", "refund"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 scenario: 1 passed, 0 failed, 1 not chosen"
    assert main(["test", "triage.mkl", "-k", "nothing"]) == 2
    assert "chooses none of 2 scenarios" in capsys.readouterr().err


def test_coverage_names_the_states_and_gates_that_no_scenario_takes(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", PLAIN)
    assert main(["test", "triage.mkl", "--coverage"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("triage.mkl:")]
    assert lines == [
        "triage.mkl:12:17: warning: gate-untested: states.read.gates[0]: no scenario takes gate 1 of 'read'",
        "triage.mkl:13:17: warning: gate-untested: states.read.gates[1]: no scenario takes gate 2 of 'read'",
        "triage.mkl:15:3: warning: state-untested: states.refund: no scenario enters 'refund'",
        "triage.mkl:25:17: warning: gate-untested: states.answer.gates[0]: no scenario takes gate 1 of 'answer'",
        "triage.mkl: 2 of 6 gates taken (33 %), 2 of 3 states entered",
    ]


@pytest.mark.parametrize(("percent", "code"), [("50", 0), ("51", 1)])
def test_too_little_coverage_fails(percent: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", PLAIN, REFUND)
    write("other.mkl", machine=TRIAGE.replace("machine: triage", "machine: other"))
    write("other.test.yaml", PLAIN)
    assert main(["test", ".", "--fail-under", percent]) == code
    assert ("--fail-under asks for" in capsys.readouterr().err) is bool(code)


def test_a_callee_counts_where_it_has_scripts_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    caller = TRIAGE.replace("machine: triage", "machine: caller").replace(
        '    structure: A reply.\n    prompt: "Answer {{mail}}"\n', "    call: triage\n"
    )
    write("caller.mkl", machine=caller)
    write("triage.mkl", machine=TRIAGE)
    script = LAZY.replace("hello]", "refund]").replace("judge: [none, none]", "judge: [none, none]")
    write("caller.test.yaml", script + "    tools: { send_reply: [sent] }\n")
    write("triage.test.yaml", PLAIN)
    code, wire = played("caller.mkl", "triage.mkl", "--coverage", capsys=capsys)
    assert code == 0
    taken = {one["machine"]: one["states_taken"] for one in wire["summary"]["coverage"]["machines"]}
    assert taken == {"caller": 2, "triage": 3}


def test_mutants_that_nobody_notices_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", LAZY)
    code, wire = played("triage.mkl", "--mutate", capsys=capsys)
    told = [found["message"] for found in wire["diagnostics"] if found["code"] == "mutant-unnoticed"]
    assert code == 0
    assert "no scenario notices when gate 1 of 'read' is gone" in told
    assert "no scenario notices when gate 1 of 'refund' fails instead" in told
    assert "no scenario notices when gate 3 of 'read' fails instead" not in told
    counts = wire["summary"]["mutants"][0]
    assert counts["tried"] == counts["noticed"] + len(told)


def test_a_better_script_notices_more(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    noticed = []
    for scenarios in ([LAZY], [LAZY, REFUND]):
        write("triage.test.yaml", *scenarios)
        noticed.append(played("triage.mkl", "--mutate", capsys=capsys)[1]["summary"]["mutants"][0]["noticed"])
    assert noticed == sorted(set(noticed))


def test_mutants_are_limited_in_number_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", PLAIN)
    every = played("triage.mkl", "--mutate", capsys=capsys)[1]["summary"]["mutants"][0]
    few = played("triage.mkl", "--mutate", "--max-mutants", "3", capsys=capsys)[1]["summary"]["mutants"][0]
    assert (few["tried"], few["left_out"]) == (3, every["tried"] - 3)
    none = played("triage.mkl", "--mutate", "--mutate-seconds", "0", capsys=capsys)[1]["summary"]["mutants"][0]
    assert none["left_out"] >= every["tried"] - 1


def test_outcomes_as_junit(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    odd = LAZY.replace("it ends somehow", '"a <b> & \\"c\\"\\u0001"').replace("status: done", "status: halt")
    write("triage.test.yaml", PLAIN, odd)
    write("broken.mkl", machine=TRIAGE.replace("budget: 9", "budget: 0"))
    write("broken.test.yaml", PLAIN)
    assert main(["test", ".", "lost", "--junit", "out.xml"]) == 2
    root = ElementTree.parse("out.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    names = [(suite.get("name"), [case.get("name") for case in suite]) for suite in root]
    assert names == [
        ("broken.test.yaml", ["(not played)"]),
        ("triage.test.yaml", ["a question is answered", 'a <b> & "c"\ufffd']),
        ("lost", ["(not played)"]),
    ]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == 'status: expected "halt", got "done"'


def test_junit_into_a_place_that_cannot_be_written_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("triage.test.yaml", PLAIN)
    assert main(["test", "triage.mkl", "--junit", "no/such/folder.xml"]) == 2
    assert "no/such/folder.xml: cannot be written" in capsys.readouterr().err


def test_a_script_that_lies_elsewhere_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    write("triage.mkl", machine=TRIAGE)
    write("elsewhere/one.yaml", PLAIN)
    write("elsewhere/two.yaml", REFUND)
    scripts = ["--script", "elsewhere/one.yaml", "--script", "elsewhere/two.yaml"]
    code, wire = played("triage.mkl", *scripts, capsys=capsys)
    assert (code, wire["summary"]) == (0, {"passed": 2, "failed": 0})
    assert main(["test", "triage.mkl", "triage.mkl", *scripts]) == 2
