"""``mklang audit`` on machines: the way of a finding, the forms it is written in, the description (L125, S45)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mklang.audit.findings import TITLES
from mklang.cli.main import main
from mklang.engine.options import Effect
from mklang.host.auditing import Looking, audit
from tests.audit.machines.corpus import HOOK, STOP, call, draft, look, machine, tool

pytestmark = pytest.mark.rule("L125", "S50")

CHAIN = machine("chain", d=draft(to="e"), e=draft(output="other", to="send"), send=call("post"))
POST = machine("post", result="done", look=look(to="s", output="seen"), s=tool(value="{{text}}", output="done"))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flows").mkdir()
    Path("flows/chain.mkl").write_text(CHAIN)
    Path("flows/post.mkl").write_text(POST)


def audited(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["audit", *arguments, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_finding_shows_every_station_from_the_model_to_the_tool(capsys: pytest.CaptureFixture[str]) -> None:
    code, wire = audited("flows", capsys=capsys)
    assert (code, wire["ok"], wire["summary"]["machines"]) == (1, False, 2)
    (found,) = wire["findings"]
    assert (found["code"], found["severity"], found["path"]) == ("AK102", "error", "flows/chain.mkl")
    assert CHAIN.splitlines()[found["line"] - 1].strip().startswith("input:")
    assert [(point["path"].rpartition("/")[2], point["note"].partition(",")[0]) for point in found["trace"]] == [
        ("chain.mkl", "d: a model writes 'note'"),
        ("chain.mkl", "e: passes"),
        ("chain.mkl", "send: machine 'post' gets it as 'text'"),
        ("post.mkl", "look: passes"),
        ("post.mkl", "s: tool 'write_file' gets it as 'text'"),
    ]
    assert all(point["line"] > 0 for point in found["trace"])


def test_a_person_reads_the_way_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "flows/chain.mkl"]) == 1
    out = capsys.readouterr().out
    assert "reaches machine 'post', which acts on it, as 'text', unguarded: d → e → send → look → s" in out
    assert "hint: bind a guard" in out


def test_binding_a_guard_in_the_callee_silences_it_and_the_next_audit_is_clean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("flows/guards.yaml").write_text("post.s.input.text: note\n")
    Path("flows/note.guard.yaml").write_text("guard: note\nparse: text\nbounds: { bytes: 200 }\n")
    code, wire = audited(capsys=capsys)
    assert (code, wire["findings"]) == (0, [])


def test_sarif_has_the_rule_the_place_and_the_flow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "flows", "--sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(TITLES)
    (result,) = run["results"]
    assert result["ruleId"] == "AK102"
    stations = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(stations) == 5
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] > 1


def test_a_file_that_cannot_be_read_is_no_silence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("flows/broken.mkl").write_text("machine: [")
    code, wire = audited("flows", capsys=capsys)
    assert code == 2
    assert wire["summary"]["unread"] == 1
    assert len(wire["findings"]) == 1
    assert main(["audit", "nowhere"]) == 2


def test_warnings_fail_only_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    Path("observed.mkl").write_text(machine(l=look(), send=tool()))
    assert audited("observed.mkl", capsys=capsys)[0] == 0
    assert audited("observed.mkl", "--strict", capsys=capsys)[0] == 1
    assert audited("observed.mkl", "--strict", "--tool", "write_file=read", capsys=capsys)[0] == 0


@pytest.mark.rule("S45")
def test_a_machine_is_described_by_its_patterns_and_the_review_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    judged = draft(gates=f"[{{ when: it rambles, repair: 2, to: d }}, {HOOK}, {STOP}]")
    Path("one.mkl").write_text(machine("one", result="receipt", l=look(to="d", output="topic"), d=judged, send=tool()))
    Path("note.guard.yaml").write_text("guard: note\nparse: text\nbounds: { bytes: 200 }\n")
    _, wire = audited("one.mkl", "--describe", capsys=capsys)
    (one,) = wire["described"]
    patterns = {entry["pattern"].split(" (")[0]: entry["where"] for entry in one["patterns"]}
    assert patterns["guard"] == "guard:note on d"
    assert patterns["filter"] == "l"
    assert patterns["judge + enforce"] == "gates of 'd'"
    assert patterns["orchestrator"].startswith("at most 20 steps")
    review = {entry["question"]: entry["answer"] for entry in one["review"]}
    assert len(review) == 7
    assert review["where is the guard?"] == "fine"
    assert review["can the judge write?"] == "finding"


def test_the_description_of_an_unguarded_machine_names_where(capsys: pytest.CaptureFixture[str]) -> None:
    _, wire = audited("flows/chain.mkl", "--describe", capsys=capsys)
    review = {entry["question"]: entry for entry in wire["described"][0]["review"]}
    assert review["where is the guard?"]["answer"] == "finding"
    assert "'send'" in review["where is the guard?"]["because"]


def test_our_own_machines_have_no_unexplained_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    report = audit(("examples", "src"), Looking(effects={"word_count": Effect.READ}))  # as its plug-in says
    assert report.findings == ()
    assert report.machines >= 2


def test_a_loop_that_only_a_judge_leaves_is_told_to_have_the_budget_only(capsys: pytest.CaptureFixture[str]) -> None:
    gates = "[{ when: it is good, then: ok, to: END }, { when: otherwise, then: ok, to: d }]"
    Path("loop.mkl").write_text(machine("loop", d=draft(gates=gates)))
    _, wire = audited("loop.mkl", "--describe", capsys=capsys)
    review = {entry["question"]: entry["because"] for entry in wire["described"][0]["review"]}
    assert "the budget only" in review["who ends the loop?"]


@pytest.mark.parametrize(("reason", "silent"), [("a person reads it first", True), ("", False)])
def test_a_comment_in_a_machine_silences_only_with_a_reason(
    reason: str, silent: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = audited("flows/chain.mkl", capsys=capsys)[1]["findings"]
    lines = CHAIN.splitlines()
    indent = lines[found["line"] - 1][: -len(lines[found["line"] - 1].lstrip())]
    lines.insert(found["line"] - 1, f"{indent}# mklang: ignore[AK102] {reason}".rstrip())
    Path("flows/chain.mkl").write_text("\n".join(lines) + "\n")
    code, wire = audited("flows/chain.mkl", capsys=capsys)
    assert (code == 0, wire["summary"]["silenced"]) == (silent, int(silent))
    main(["lint", "flows/chain.mkl", "--format", "json"])
    assert "suppression-unknown" not in capsys.readouterr().out


def test_a_baseline_holds_what_is_known_of_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "flows", "--write-baseline", "known.json"]) == 0
    capsys.readouterr()
    Path("flows/chain.mkl").write_text(f"# one more line\n{CHAIN}")
    code, wire = audited("flows", "--baseline", "known.json", capsys=capsys)
    assert (code, wire["findings"], wire["summary"]["known"]) == (0, [], 1)
