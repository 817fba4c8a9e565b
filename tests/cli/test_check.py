"""``mklang check`` as people, editors and scripts call it (L107, L109, L114)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main

GOOD = """\
machine: good
entry: a
budget: 5
context: { topic: tea }
states:
  a:
    structure: One line.
    prompt: "Say hello to {{topic}}."
    output: o
    gates:
      - when: otherwise
        then: ok
        to: END
"""
CALLER = GOOD.replace("machine: good", "machine: caller").replace(
    '    structure: One line.\n    prompt: "Say hello to {{topic}}."\n', "    call: callee\n"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, "utf-8")
    return name


def checked(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON document."""
    code = main(["check", *arguments, "--format", "json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    wire = json.loads(captured.out)
    assert list(wire) == ["command", "ok", "items", "diagnostics", "summary"]
    return code, wire


@pytest.mark.rule("L107", "L109", "L110")
def test_a_good_file_is_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", write("good.mkl", GOOD)]) == 0
    assert capsys.readouterr() == ("good.mkl: ok\n1 file checked: 0 errors, 0 warnings\n", "")


@pytest.mark.rule("L109")
def test_json_has_one_item_a_file_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    write("good.mkl", GOOD)
    write("bad.mkl", GOOD.replace("budget: 5", "budgt: 5"))
    code, wire = checked("good.mkl", "bad.mkl", "good.mkl", capsys=capsys)
    assert (code, wire["ok"], wire["summary"]) == (1, False, {"files": 2})
    assert [(item["path"], item["status"]) for item in wire["items"]] == [("good.mkl", "ok"), ("bad.mkl", "error")]
    assert wire["items"][0] == {"path": "good.mkl", "status": "ok", "errors": [], "warnings": [], "diagnostics": []}
    found = wire["items"][1]["diagnostics"]
    assert ("unknown-key", 3, 1, 3, 6) in [
        (one["code"], one["line"], one["column"], one["end_line"], one["end_column"]) for one in found
    ]
    assert all(error.startswith("bad.mkl:") for error in wire["items"][1]["errors"])


@pytest.mark.rule("L114", "W39")
def test_the_place_is_underlined_and_the_near_miss_named(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", write("bad.mkl", GOOD.replace("budget: 5", "budgt: 5"))])
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("bad.mkl:3:1: error: unknown-key: "))
    assert lines[at + 1 : at + 4] == ["  3 | budgt: 5", "    | ^^^^^", "  hint: did you mean 'budget'?"]


@pytest.mark.parametrize(
    ("line", "under"),
    [
        ("      - { when: 日本語, then: okk, to: END }", "                              ^^^"),
        ("      - { when: \tx, then: okk, to: END }", "                             ^^^"),
        ("      - { when: x, then: okk, to: END } # " + "long " * 40, "                         ^^^"),
    ],
)
def test_carets_stand_under_what_they_mean(line: str, under: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace("      - when: otherwise\n        then: ok\n        to: END\n", f"{line}\n")
    main(["check", write("bad.mkl", text)])
    out = capsys.readouterr().out.splitlines()
    assert f"     | {under}" in out
    assert max(len(one) for one in out if one.startswith("  ")) <= 110


@pytest.mark.rule("L13", "L107")
def test_warnings_do_not_fail_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    write("open.mkl", GOOD.replace("when: otherwise", "when: the line is friendly"))
    code, wire = checked("open.mkl", capsys=capsys)
    assert (code, wire["ok"], wire["items"][0]["status"]) == (0, True, "warning")
    assert wire["items"][0]["errors"] == []
    assert len(wire["items"][0]["warnings"]) == len(wire["items"][0]["diagnostics"]) == 1


@pytest.mark.rule("L3", "L114")
def test_strict_refuses_an_unsupported_version(capsys: pytest.CaptureFixture[str]) -> None:
    write("new.mkl", 'mklang: "9.9"\n' + GOOD)
    assert checked("new.mkl", capsys=capsys)[1]["items"][0]["status"] == "warning"
    code, wire = checked("new.mkl", "--strict", capsys=capsys)
    assert (code, wire["items"][0]["status"]) == (1, "error")


@pytest.mark.rule("L20", "W11")
def test_an_error_in_a_called_machine_counts_and_stands_at_its_own_place(capsys: pytest.CaptureFixture[str]) -> None:
    write("caller.mkl", CALLER)
    write("callee.mkl", GOOD.replace("machine: good", "machine: callee").replace("entry: a", "entry: b"))
    code, wire = checked("caller.mkl", capsys=capsys)
    assert code == 1
    assert [(one["path"], one["line"]) for one in wire["items"][0]["diagnostics"]] == [("callee.mkl", 2)]


def test_a_warning_about_a_called_machine_is_left_to_its_own_check(capsys: pytest.CaptureFixture[str]) -> None:
    write("caller.mkl", CALLER)
    write("callee.mkl", GOOD.replace("machine: good", "machine: callee").replace("when: otherwise", "when: it is nice"))
    assert checked("caller.mkl", capsys=capsys)[1]["items"][0]["status"] == "ok"


@pytest.mark.rule("W60", "L107")
@pytest.mark.parametrize(
    ("path", "code"), [("nowhere.mkl", "file-missing"), ("empty", "file-is-directory"), ("latin.mkl", "not-utf8")]
)
def test_a_file_that_cannot_be_read_is_an_error_like_any_other(
    path: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("latin.mkl").write_bytes(b"machine: caf\xe9\n")
    Path("empty").mkdir()
    exit_code, wire = checked(path, capsys=capsys)
    assert exit_code == 1
    assert [one["code"] for one in wire["items"][0]["diagnostics"]] == [code]


@pytest.mark.rule("W12")
def test_document_text_reaches_no_terminal_as_code(capsys: pytest.CaptureFixture[str]) -> None:
    bad = GOOD.replace("to: END", 'to: "[red]\\e[2J\\u202Ex[/foo]"')
    main(["check", write("bad.mkl", bad), "--color", "always"])
    out = capsys.readouterr().out
    assert "[red]" in out and "[/foo]" in out
    assert "\x1b[2J" not in out and "\u202e" not in out
    assert "\\x1b[2J\\u202ex" in out


@pytest.mark.rule("L106")
@pytest.mark.parametrize(
    ("choice", "no_color", "coloured"),
    [("auto", None, False), ("never", None, False), ("always", None, True), ("always", "1", True)],
)
def test_colour_is_asked_for_or_for_terminals(
    choice: str,
    no_color: str | None,
    coloured: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    main(["check", write("good.mkl", GOOD), "--color", choice])
    assert ("\x1b[" in capsys.readouterr().out) is coloured


def test_a_folder_that_cannot_be_written_to_is_no_matter(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shelf").mkdir()
    write("shelf/good.mkl", GOOD)
    Path("shelf").chmod(0o555)
    before = sorted(Path("shelf").iterdir())
    assert main(["check", "shelf/good.mkl"]) == 0
    assert sorted(Path("shelf").iterdir()) == before
    Path("shelf").chmod(0o755)
