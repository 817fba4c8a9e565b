"""``mklang audit`` on Python: forms, baseline, suppression, changed files, cache, configuration (L125, S50)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main

pytestmark = pytest.mark.rule("L125", "S50")

ASK = """\
from openai import OpenAI


def ask(prompt):
    return OpenAI().responses.create(model="m", input=prompt).output_text
"""
WRITE = """\
from pathlib import Path

from app.asking import ask


def main():
    text = ask("x")
    Path("notes.md").write_text(text)
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_CACHE_DIR", str(tmp_path / "cache"))
    Path("app").mkdir()
    Path("app/__init__.py").write_text("")
    Path("app/asking.py").write_text(ASK)
    Path("app/writing.py").write_text(WRITE)


def audited(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["audit", *arguments, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def codes(wire: dict[str, Any]) -> list[str]:
    return [found["code"] for found in wire["findings"]]


def test_a_finding_has_its_place_and_the_way_from_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    code, wire = audited(".", capsys=capsys)
    (found,) = wire["findings"]
    assert (code, found["code"], found["severity"]) == (1, "AK102", "error")
    assert (found["path"], found["line"]) == ("app/writing.py", 8)
    assert [(point["path"], point["line"]) for point in found["trace"]] == [
        ("app/asking.py", 5),
        ("app/writing.py", 7),
        ("app/writing.py", 8),
    ]


def test_text_shows_the_way_and_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "."]) == 1
    told = capsys.readouterr().out
    assert "app/asking.py:5  a model answers" in told
    assert "unresolved (AK902)" in told


def test_sarif_has_a_code_flow(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", ".", "--sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert len(result["codeFlows"][0]["threadFlows"][0]["locations"]) == 3


def test_a_file_with_a_syntax_error_is_told_and_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app/broken.py").write_text("def broken(:\n")
    code, wire = audited(".", capsys=capsys)
    assert (code, codes(wire)) == (1, ["AK102"])
    assert [one["path"] for one in wire["python"]["unread"]] == ["app/broken.py"]


def test_a_baseline_holds_what_is_known_even_when_lines_move(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", ".", "--write-baseline", "known.json"]) == 0
    capsys.readouterr()
    Path("app/writing.py").write_text(f"# one more line\n{WRITE}")
    code, wire = audited(".", "--baseline", "known.json", capsys=capsys)
    assert (code, codes(wire), wire["python"]["known"]) == (0, [], 1)
    assert main(["audit", ".", "--baseline", "nowhere.json"]) == 2


@pytest.mark.parametrize(("reason", "silent"), [("thrown away after the demo", True), ("", False)])
def test_a_comment_silences_only_with_a_reason(reason: str, silent: bool, capsys: pytest.CaptureFixture[str]) -> None:
    comment = f"write_text(text)  # mklang: ignore[AK102] {reason}"
    Path("app/writing.py").write_text(WRITE.replace("write_text(text)", comment.rstrip()))
    code, wire = audited(".", capsys=capsys)
    assert (code == 0) is silent
    assert wire["python"]["silenced"] == int(silent)


def test_changed_keeps_the_findings_that_a_changed_file_has_part_in(capsys: pytest.CaptureFixture[str]) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("add", "app")
    git("commit", "-q", "-m", "first")
    assert codes(audited("app", "--changed", "HEAD", capsys=capsys)[1]) == []
    Path("app/asking.py").write_text(ASK + "\n# changed\n")
    assert codes(audited("app", "--changed", "HEAD", capsys=capsys)[1]) == ["AK102"]
    assert main(["audit", "app", "--changed", "no-such-revision"]) == 2


def test_unchanged_files_come_from_the_cache_and_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    first = audited(".", capsys=capsys)[1]
    again = audited(".", capsys=capsys)[1]
    assert (first["python"]["cached"], again["python"]["cached"]) == (0, 3)
    assert first["findings"] == again["findings"]
    Path("app/asking.py").write_text(ASK.replace("OpenAI().responses", "Nothing().answers"))
    third = audited(".", capsys=capsys)[1]
    assert (third["python"]["cached"], third["findings"]) == (2, [])


def test_a_damaged_cache_is_read_as_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audited(".", capsys=capsys)
    for file in (tmp_path / "cache/audit").iterdir():
        file.write_bytes(b"\xff\x00 nonsense")
    assert codes(audited(".", capsys=capsys)[1]) == ["AK102"]


def test_a_project_names_its_own_sources_guards_sinks_and_layers(capsys: pytest.CaptureFixture[str]) -> None:
    Path("app/asking.py").write_text("def ask(prompt):\n    return remote(prompt)\n")
    assert codes(audited(".", capsys=capsys)[1]) == []
    Path("pyproject.toml").write_text('[tool.mklang.audit]\nsources = ["app.asking.ask"]\n')
    assert codes(audited(".", capsys=capsys)[1]) == ["AK102"]
    Path("pyproject.toml").write_text(
        '[tool.mklang.audit]\nsources = ["app.asking.ask"]\nlayers = {behaviour = ["notes.md"]}\n'
    )
    assert codes(audited(".", capsys=capsys)[1]) == ["AK101"]
    Path("pyproject.toml").write_text('[tool.mklang.audit]\nlayers = {wisdom = ["notes.md"]}\n')
    assert main(["audit", "."]) == 2


def test_a_description_answers_the_seven_questions(capsys: pytest.CaptureFixture[str]) -> None:
    _, wire = audited(".", "--describe", capsys=capsys)
    (pipeline,) = wire["described"]
    assert pipeline["machine"] == "app.writing.main"
    assert len(pipeline["review"]) == 7
    assert pipeline["review"][0]["answer"] == "finding"


def test_stars_of_modules_that_are_not_there_end_the_search_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    missing = [f"part{number}" for number in range(12)]
    Path("pack").mkdir()
    Path("pack/__init__.py").write_text("".join(f"from .{name} import *\n" for name in missing))
    Path("user.py").write_text("import pack\nfrom pack import Thing\nx = Thing(pack.part3.part4.Thing)\n")
    _, wire = audited("pack", "user.py", capsys=capsys)
    assert (wire["findings"], wire["python"]["files"]) == ([], 2)
