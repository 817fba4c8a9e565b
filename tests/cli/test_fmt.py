"""``mklang fmt``: files rewritten whole or not at all, checked and compared without writing."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from mklang.cli.main import main
from mklang.errors import HostError
from mklang.host.rewriting import write_back
from mklang.source import Source
from tests.cli.test_check import GOOD, write

ODD = GOOD.replace("budget: 5\n", "").replace("machine: good\n", "budget:   5\nmachine: good\n")
TIDY = GOOD


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_files_are_rewritten_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    write("odd.mkl", ODD)
    write("tidy.mkl", TIDY)
    assert main(["fmt", "."]) == 0
    assert capsys.readouterr().out == "formatted odd.mkl\n2 files: 1 changed, 1 left as it is\n"
    assert Path("odd.mkl").read_text("utf-8") == TIDY
    assert main(["fmt", ".", "--check"]) == 0


def test_check_writes_nothing_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    write("odd.mkl", ODD)
    assert main(["fmt", "odd.mkl", "--check"]) == 1
    assert capsys.readouterr().out == "would format odd.mkl\n1 file: 1 would change, 0 left as they are\n"
    assert Path("odd.mkl").read_text("utf-8") == ODD


def test_diff_shows_what_would_change(capsys: pytest.CaptureFixture[str]) -> None:
    write("odd.mkl", ODD)
    assert main(["fmt", "odd.mkl", "--diff"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["--- odd.mkl (as it is)", "+++ odd.mkl (rewritten)"]
    assert "-budget:   5" in lines and "+budget: 5" in lines
    assert Path("odd.mkl").read_text("utf-8") == ODD


def test_a_file_that_cannot_be_formatted_is_told_and_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    write("bad.mkl", "machine: [")
    write("odd.mkl", ODD)
    assert main(["fmt", "bad.mkl", "odd.mkl", "nowhere.mkl", "--format", "json"]) == 2
    wire = json.loads(capsys.readouterr().out)
    assert [item["status"] for item in wire["items"]] == ["error", "changed", "error"]
    assert [found["code"] for found in wire["diagnostics"]] == ["yaml-syntax", "file-missing"]
    assert Path("odd.mkl").read_text("utf-8") == TIDY
    assert Path("bad.mkl").read_text("utf-8") == "machine: ["


def test_rights_links_and_byte_order_marks_stay() -> None:
    Path("real").mkdir()
    Path("real/odd.mkl").write_bytes(b"\xef\xbb\xbf" + ODD.encode())
    Path("real/odd.mkl").chmod(0o640)
    Path("odd.mkl").symlink_to("real/odd.mkl")
    assert main(["fmt", "odd.mkl"]) == 0
    assert Path("odd.mkl").is_symlink()
    assert Path("real/odd.mkl").read_bytes() == b"\xef\xbb\xbf" + TIDY.encode()
    assert Path("real/odd.mkl").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in Path("real").iterdir()] == ["odd.mkl"]


def test_what_was_changed_in_between_is_not_overwritten() -> None:
    write("odd.mkl", "somebody else's")
    with pytest.raises(HostError, match="changed in between"):
        write_back("odd.mkl", Source("odd.mkl", ODD), TIDY)
    assert Path("odd.mkl").read_text("utf-8") == "somebody else's"


def test_a_failure_while_writing_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    write("odd.mkl", ODD)
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(HostError, match="No space left"):
        write_back("odd.mkl", Source("odd.mkl", ODD), TIDY)
    assert Path("odd.mkl").read_text("utf-8") == ODD
    assert [path.name for path in Path().iterdir()] == ["odd.mkl"]


@pytest.mark.parametrize(("given", "code", "out"), [(ODD, 0, TIDY), ("machine: [", 2, "")])
def test_a_dash_formats_stdin(
    given: str, code: int, out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    assert main(["fmt", "-"]) == code
    assert capsys.readouterr().out == out
