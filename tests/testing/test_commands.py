"""``mklang test`` and ``mklang conformance`` as a person or a script calls them (L93, L107, L109, L110)."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from mklang.cli.main import main
from tests.testing.documents import NOTE

PASSING = "  - name: kept\n    llm: { produce: [a], judge: [0] }\n    expect: { status: done, result: a }\n"
FAILING = "  - name: lost\n    llm: { produce: [a], judge: [none] }\n    expect: { status: done }\n"
TYPO = "  - name: typo\n    expects: { status: done }\n"
CASE = """
    case: NAME
    description: d
    machine:
      machine: m
      entry: a
      budget: 2
      states:
        a: { structure: s, prompt: p, output: o, gates: [{ when: otherwise, then: ok, to: END }] }
    llm: { produce: [RESULT] }
    expect: { result: right }
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    Path(name).write_text(dedent(text), "utf-8")


def run_test(*scenarios: str, document: str = NOTE, arguments: tuple[str, ...] = ()) -> int:
    write("note.mkl", document)
    Path("note.test.yaml").write_text("scenarios:\n" + "".join(scenarios), "utf-8")
    return main(["test", "note.mkl", "--script", "note.test.yaml", *arguments])


@pytest.mark.rule("L107", "L110")
def test_passing_scenarios_are_told_in_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_test(PASSING, PASSING.replace("kept", "kept again")) == 0
    assert capsys.readouterr() == ("PASS kept\nPASS kept again\n2 scenarios: 2 passed, 0 failed\n", "")


@pytest.mark.rule("L92", "L107", "L110", "W55")
def test_a_failing_scenario_tells_what_differs_and_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_test(FAILING, PASSING) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL lost",
        '  mismatch: status: expected "done", got "halt"',
        '  mismatch: the run ended: status "halt", error "gate-fail", at state "write"',
        "PASS kept",
        "2 scenarios: 1 passed, 1 failed",
    ]


@pytest.mark.rule("L93", "L107", "W56")
def test_a_scenario_with_a_typo_fails_at_its_place_and_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_test(TYPO, PASSING) == 1
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert (first, third) == ("FAIL typo", "PASS kept")
    assert second.startswith("  mismatch: note.test.yaml:3:5: unknown-key: scenarios[0].expects:")


@pytest.mark.rule("L109")
def test_the_json_form_of_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_test(PASSING, FAILING, TYPO, arguments=("--format", "json")) == 1
    wire = json.loads(capsys.readouterr().out)
    assert list(wire) == ["command", "ok", "items", "diagnostics", "summary"]
    assert (wire["command"], wire["ok"], wire["summary"]) == ("test", False, {"passed": 1, "failed": 2})
    assert [(item["scenario"], item["status"]) for item in wire["items"]] == [
        ("kept", "pass"),
        ("lost", "fail"),
        ("typo", "fail"),
    ]
    assert wire["items"][0]["mismatches"] == []
    assert wire["items"][1]["mismatches"][0] == 'status: expected "done", got "halt"'
    assert [(found["code"], found["line"]) for found in wire["diagnostics"]] == [("unknown-key", 9)]


@pytest.mark.rule("L93", "L107")
@pytest.mark.parametrize(
    ("document", "scenarios", "place"),
    [
        (NOTE.replace("budget: 6", "budget: 0"), PASSING, "note.mkl:4:9: error: bad-value"),
        (NOTE.replace("entry: write", "entry: wrote"), PASSING, "note.mkl:3:8: error: entry-unknown"),
        (NOTE, "", "note.test.yaml:1:1: error: wrong-type"),
        (NOTE, " []", "note.test.yaml:2:2: error: no-scenarios"),
        (NOTE, "  - [", "note.test.yaml:2:5: error: yaml-syntax"),
    ],
)
def test_a_machine_or_script_with_errors_is_not_played(
    document: str, scenarios: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_test(scenarios, document=document) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert place in err


@pytest.mark.rule("L93", "L107")
@pytest.mark.parametrize("missing", ["machine", "script"])
def test_a_file_that_is_not_there_is_bad_input(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("note.mkl", NOTE)
    write("note.test.yaml", "scenarios:\n" + PASSING)
    names = {"machine": "note.mkl", "script": "note.test.yaml", missing: "nowhere"}
    assert main(["test", names["machine"], "--script", names["script"]]) == 2
    assert "nowhere: error: file-missing" in capsys.readouterr().err


@pytest.mark.rule("L109")
def test_unusable_input_in_json_is_told_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_test(PASSING, document=NOTE.replace("budget: 6", "budget: 0"), arguments=("--format", "json")) == 2
    wire = json.loads(capsys.readouterr().out)
    assert (wire["ok"], wire["items"], wire["summary"]) == (False, [], {"passed": 0, "failed": 0})
    assert [found["code"] for found in wire["diagnostics"]] == ["bad-value"]


@pytest.mark.rule("L20", "W11")
def test_called_machines_are_found_beside_the_machine_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    caller = """
        machine: caller
        entry: a
        budget: 5
        states:
          a: { call: note, input: { raw: x }, output: o, gates: [{ when: otherwise, then: ok, to: END }] }
    """
    write("caller.mkl", caller)
    assert run_test(PASSING) == 0
    assert main(["test", "caller.mkl", "--script", "note.test.yaml"]) == 0
    capsys.readouterr()
    write("note.mkl", NOTE.replace("budget: 6", "budget: none"))
    assert main(["test", "caller.mkl", "--script", "note.test.yaml"]) == 2
    assert "note.mkl:4:9: error: wrong-type" in capsys.readouterr().err


@pytest.mark.rule("W12")
def test_what_a_script_says_is_never_obeyed_by_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = '  - name: "[red]\\e[31m"\n    llm: { produce: ["[/x]\\e[0m"], judge: [0] }\n    expect: { result: b }\n'
    assert run_test(scenario) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "FAIL [red]\\x1b[31m" in out


def write_cases(**results: str) -> None:
    Path("cases").mkdir()
    for name, result in results.items():
        write(f"cases/{name}.yaml", CASE.replace("NAME", name).replace("RESULT", result))


@pytest.mark.rule("L94", "L107")
def test_conformance_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    write_cases(good="right", bad="wrong")
    assert main(["conformance", "cases"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL bad",
        '  mismatch: result: expected "right", got "wrong"',
        '  mismatch: the run ended: status "done"',
        "PASS good",
        "2 cases: 1 passed, 1 failed",
    ]


@pytest.mark.rule("L94")
def test_conformance_in_json_has_these_keys_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    write_cases(good="right", bad="wrong")
    assert main(["conformance", "cases", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "command": "conformance",
        "ok": False,
        "items": [
            {
                "case": "bad",
                "ok": False,
                "mismatches": ['result: expected "right", got "wrong"', 'the run ended: status "done"'],
            },
            {"case": "good", "ok": True, "mismatches": []},
        ],
        "summary": {"passed": 1, "total": 2},
    }


@pytest.mark.rule("L107")
@pytest.mark.parametrize("directory", ["nowhere", "empty", "file"])
def test_a_place_without_cases_is_bad_input(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    write("file", "")
    assert main(["conformance", directory]) == 2
    assert directory in capsys.readouterr().err
