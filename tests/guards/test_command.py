"""``mklang guard``: files and pipes held against a guard (L124)."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from mklang.cli.main import main

pytestmark = pytest.mark.rule("L124", "S41")

GUARD = "guard: numbers\nschema: { type: array, items: { type: integer } }\nbounds: { bytes: 100 }\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("numbers.guard.yaml").write_text(GUARD)
    Path("some.guard.yaml").write_text(GUARD + "per_item: true\n")


def piped(text: str | bytes, monkeypatch: pytest.MonkeyPatch, guard: str = "numbers") -> int:
    data = text.encode() if isinstance(text, str) else text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return main(["guard", "pipe", f"{guard}.guard.yaml"])


def test_a_pipe_lets_a_good_value_through_and_of_a_bad_one_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert piped("[1,\n 2]\n", monkeypatch) == 0
    assert capsys.readouterr().out == "[1,2]"
    assert piped('[1, "2"]', monkeypatch) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == 'G201 at /1: the value is not of type "integer"\n'


def test_per_item_the_good_ones_pass_and_the_exit_code_says_that_others_did_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert piped('[1, "2", 3]', monkeypatch, "some") == 1
    captured = capsys.readouterr()
    assert captured.out == "[1,3]"
    assert "/1" in captured.err


def test_an_endless_stream_is_read_no_further_than_the_guard_allows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            self.read_so_far += len(buffer)
            assert self.read_so_far < 1_000_000
            buffer[:] = b"1" * len(buffer)
            return len(buffer)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    assert main(["guard", "pipe", "numbers.guard.yaml"]) == 1
    assert "G101" in capsys.readouterr().err


def test_check_tells_each_file_and_every_reason(capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.json").write_text("[1]")
    Path("bad.json").write_text('["a", 1.5]')
    assert main(["guard", "check", "numbers.guard.yaml", "good.json"]) == 0
    assert main(["guard", "check", "numbers.guard.yaml", "good.json", "bad.json"]) == 1
    out = capsys.readouterr().out
    assert "good.json: ok" in out
    assert "bad.json: G201 at /0" in out
    assert "bad.json: G201 at /1" in out


def test_as_json_there_are_receipts_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.json").write_text("[1]")
    Path("bad.json").write_text("[")
    main(["guard", "check", "numbers.guard.yaml", "good.json", "bad.json", "--format", "json"])
    wire = json.loads(capsys.readouterr().out)
    assert (wire["command"], wire["ok"]) == ("guard check", False)
    assert wire["items"][0]["receipt"]["guard"] == "numbers"
    assert wire["items"][1]["failures"][0]["code"] == "G104"


@pytest.mark.parametrize("arguments", [["none.guard.yaml", "good.json"], ["numbers.guard.yaml", "none.json"]])
def test_what_cannot_be_read_is_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.json").write_text("[1]")
    assert main(["guard", "check", *arguments]) == 2
    assert "none" in capsys.readouterr().err


def test_lint_points_at_the_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guard", "lint", "numbers.guard.yaml"]) == 0
    Path("bad.guard.yaml").write_text("guard: bad\nschema: { type: strin }\n")
    assert main(["guard", "lint", "bad.guard.yaml"]) == 1
    assert "bad.guard.yaml:2:17: error: guard-schema: schema.type" in capsys.readouterr().out
