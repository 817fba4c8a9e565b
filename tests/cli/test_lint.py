"""``mklang lint``: all rules, chosen and silenced, over files and directories (L16, L18)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.host import library as library_module
from tests.cli.test_check import CALLER, GOOD, write

SUSPICIOUS = GOOD.replace("when: otherwise", "when: the line is friendly").replace("{{topic}}", "{{topic}} {{nowhere}}")
NOTED = GOOD.replace("context: { topic: tea }", "context: { topic: tea, price: 1.10 }").replace(
    "{{topic}}", "{{topic}} {{price}}"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def linted(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON document."""
    code = main(["lint", *arguments, "--format", "json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, json.loads(captured.out)


def codes(wire: dict[str, Any]) -> list[list[str]]:
    """The codes found in each file."""
    return [[found["code"] for found in item["diagnostics"]] for item in wire["items"]]


@pytest.mark.rule("L16", "L109")
def test_lint_finds_what_check_finds_and_more(capsys: pytest.CaptureFixture[str]) -> None:
    code, wire = linted(write("odd.mkl", SUSPICIOUS), capsys=capsys)
    item = wire["items"][0]
    assert (code, wire["ok"], wire["summary"]) == (0, True, {"files": 1, "findings": 2})
    assert codes(wire) == [["placeholder-unknown", "otherwise-missing"]]
    assert item["status"] == "warning"
    assert [text.split(": ")[1] for text in item["warnings"]] == ["otherwise-missing"]
    assert [text.split(": ")[1] for text in item["findings"]] == ["placeholder-unknown", "otherwise-missing"]
    assert item["llm_findings"] == item["errors"] == []


@pytest.mark.rule("L18")
@pytest.mark.parametrize(("document", "code"), [(SUSPICIOUS, 1), (NOTED, 0), (GOOD, 0)])
def test_strict_fails_on_findings_and_never_on_notes(
    document: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.mkl", document)
    assert main(["lint", "a.mkl", "--strict"]) == code
    assert main(["lint", "a.mkl"]) == 0


@pytest.mark.rule("L16")
def test_a_note_says_that_it_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    _, wire = linted(write("a.mkl", NOTED), capsys=capsys)
    assert [text.split(" ")[0] for text in wire["items"][0]["findings"]] == ["note:"]
    assert wire["items"][0]["status"] == "ok"
    main(["lint", "a.mkl"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a.mkl:4:31: note: number-shortened: ")
    assert lines[2] == "    |                               ^^^^"
    assert lines[-1] == "1 file checked: 0 errors, 0 warnings, 1 note"


def test_a_directory_stands_for_the_machines_in_it_and_below(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("flows/machines", "flows/.hidden", "flows/venv", "flows/empty"):
        Path(folder).mkdir(parents=True)
    for name in ("flows/b.mkl", "flows/a.mk", "flows/machines/c.mkl", "flows/.hidden/d.mkl", "flows/venv/e.mkl"):
        write(name, GOOD.replace("good", Path(name).stem))
    write("flows/venv/pyvenv.cfg", "")
    write("flows/a.test.yaml", "")
    code, wire = linted("flows", "flows/b.mkl", "flows/empty", capsys=capsys)
    assert code == 1
    assert [item["path"] for item in wire["items"]] == [
        "flows/a.mk",
        "flows/b.mkl",
        "flows/machines/c.mkl",
        "flows/empty",
    ]
    assert codes(wire)[-1] == ["file-is-directory"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--select", "placeholder-unknown"], ["placeholder-unknown"]),
        (["--select", "gates,text"], ["otherwise-missing"]),
        (["--select", "gates", "--select", "data"], ["placeholder-unknown", "otherwise-missing"]),
        (["--ignore", "data"], ["otherwise-missing"]),
        (["--select", "gates,data", "--ignore", "otherwise-missing"], ["placeholder-unknown"]),
    ],
)
def test_codes_and_families_are_chosen(
    arguments: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, wire = linted(write("a.mkl", SUSPICIOUS), *arguments, capsys=capsys)
    assert codes(wire) == [expected]


def test_what_is_not_chosen_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", SUSPICIOUS)
    assert main(["lint", "a.mkl", "--strict", "--ignore", "data,gates"]) == 0


def test_errors_are_always_told(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", SUSPICIOUS.replace("to: END", "to: nowhere"))
    code, wire = linted("a.mkl", "--select", "text", "--ignore", "targets,paths", capsys=capsys)
    assert code == 1
    assert codes(wire) == [["target-unknown"]]


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_code_that_does_not_exist_is_refused_with_the_closest(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.mkl", GOOD)
    assert main(["lint", "a.mkl", option, "gates,output-unraed"]) == 2
    expected = f"error: {option}: there is no code or family 'output-unraed'; did you mean 'output-unread'?\n"
    assert capsys.readouterr() == ("", expected)


@pytest.mark.rule("L16")
def test_a_comment_silences_a_finding_also_under_check(capsys: pytest.CaptureFixture[str]) -> None:
    silent = SUSPICIOUS.replace("    gates:", "    gates: # mklang: ignore[otherwise-missing] it must stop")
    _, wire = linted(write("a.mkl", silent), capsys=capsys)
    assert codes(wire) == [["placeholder-unknown"]]
    assert main(["check", "a.mkl"]) == 0
    assert "a.mkl: ok" in capsys.readouterr().out


def test_a_warning_of_reading_is_silenced_too(capsys: pytest.CaptureFixture[str]) -> None:
    document = GOOD.replace("{ topic: tea }", "{ topic: 010 } # mklang: ignore[reading] it is text")
    _, wire = linted(write("a.mkl", document), capsys=capsys)
    assert codes(wire) == [[]]


def test_check_does_not_judge_comments_about_findings_it_does_not_look_for(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", "# mklang: ignore-file[data] kept for the host\n" + GOOD)
    assert main(["check", "a.mkl"]) == 0
    assert "a.mkl: ok" in capsys.readouterr().out
    _, wire = linted("a.mkl", capsys=capsys)
    assert codes(wire) == [["suppression-unused"]]


def test_a_file_is_read_once_whoever_refers_to_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed: list[str] = []
    real = library_module.read_machine
    monkeypatch.setattr(library_module, "read_machine", lambda source: parsed.append(source.name) or real(source))
    for number in range(5):
        write(f"caller{number}.mkl", CALLER.replace("machine: caller", f"machine: caller{number}"))
    write("callee.mkl", GOOD.replace("machine: good", "machine: callee"))
    write("other.mkl", GOOD.replace("machine: good", "machine: other"))
    files = [f"caller{number}.mkl" for number in range(5)]
    linted(*files, "./callee.mkl", "callee.mkl", capsys=capsys)
    assert sorted(parsed) == ["./callee.mkl", *files]


def test_a_machine_that_takes_a_name_from_another_file_is_looked_at_with_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The callee's callee is the machine itself, not the file that others mean by that name."""
    recursive = CALLER.replace("machine: caller", "machine: top").replace("call: callee", "call: middle")
    write("a.mkl", recursive)
    write("b.mkl", CALLER.replace("machine: caller", "machine: middle").replace("call: callee", "call: top"))
    write("c.mkl", GOOD.replace("machine: good", "machine: top"))
    _, wire = linted("c.mkl", "b.mkl", "a.mkl", capsys=capsys)
    assert "call-endless" not in codes(wire)[1]
    assert "call-endless" in codes(wire)[2]


@pytest.mark.rule("L18")
def test_every_machine_we_ship_is_without_findings(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parents[2]
    assert main(["lint", str(root / "examples"), str(root / "src"), str(root / "benchmarks"), "--strict"]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out
