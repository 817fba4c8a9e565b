"""Findings for other people's programs: SARIF for code hosts, annotations for their CI."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from tests.analysis.support import cases, complete
from tests.cli.sarif_subset import problems_of
from tests.cli.test_check import CALLER, GOOD, write

ODD = GOOD.replace("budget: 5", "Budget: 5").replace("to: END", "to: nowhere")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sarif(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The only run of the log, which is valid."""
    main(["lint", *arguments, "--format", "sarif"])
    log = json.loads(capsys.readouterr().out)
    assert problems_of(log) == []
    run: dict[str, Any] = log["runs"][0]
    return run


def test_every_document_of_the_corpus_gives_a_valid_log(capsys: pytest.CaptureFixture[str]) -> None:
    for number, case in enumerate(cases()):
        first, *_ = re.split(r"^---\n", case.text, flags=re.MULTILINE)
        write(f"{case.rule} {number}.mkl", complete(first))
    run = sarif(".", capsys=capsys)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) > 50
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


def test_a_result_has_its_rule_its_place_and_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif(write("odd name.mkl", ODD), capsys=capsys)
    result = run["results"][0]
    assert (result["ruleId"], result["level"]) == ("unknown-key", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "odd%20name.mkl"
    assert place["region"] == {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 7}
    replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert (replacement["deletedRegion"], replacement["insertedContent"]) == (place["region"], {"text": "budget"})


def test_a_problem_without_a_place_has_only_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif("nowhere.mkl", str(tmp_path / "x.mkl"), capsys=capsys)
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert places[0] == {"artifactLocation": {"uri": "nowhere.mkl"}}
    assert places[1]["artifactLocation"]["uri"].startswith("file:///")


def test_without_findings_the_log_is_empty_and_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert sarif(write("good.mkl", GOOD), capsys=capsys)["results"] == []


def test_a_finding_in_a_machine_that_several_call_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        write(f"{name}.mkl", CALLER.replace("machine: caller", f"machine: {name}"))
    write("callee.mkl", GOOD.replace("machine: good", "machine: callee").replace("entry: a", "entry: b"))
    run = sarif("one.mkl", "two.mkl", "callee.mkl", capsys=capsys)
    assert [result["ruleId"] for result in run["results"]].count("entry-unknown") == 1


def test_annotations_for_ci(capsys: pytest.CaptureFixture[str]) -> None:
    odd = GOOD.replace("to: END", 'to: "no 100%:, where\\n::error::"')
    assert main(["check", write("a,b.mkl", odd), "--format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::error file=a%2Cb.mkl,line=13,col=13,endLine=13,endColumn=")
    assert ",title=target-unknown::states.a.gates[0].to: 'no 100%25:, where%0A::error::' is not a state" in lines[0]
    assert len(lines) == 1


def test_severities_of_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    document = GOOD.replace("when: otherwise", "when: nice").replace("{ topic: tea }", "{ topic: tea, v: 1.10 }")
    main(["lint", write("a.mkl", document), "--format", "github"])
    kinds = {line.split(" ")[0] for line in capsys.readouterr().out.splitlines()}
    assert kinds == {"::warning", "::notice"}
