"""A file that cannot be read is a diagnostic like any other problem, with a code of its own."""

import os
from pathlib import Path

import pytest

from mklang.errors import DocumentError
from mklang.host.library import library_around
from mklang.lang.files import read_source
from mklang.lang.reader import load_machine, read_file
from tests.lang.documents import smallest


def codes(path: Path | str) -> list[str]:
    return [one.code for one in read_file(path).diagnostics]


@pytest.mark.rule("L1")
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_file_is_utf_8_with_or_without_a_byte_order_mark(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "m.mkl"
    path.write_bytes(start + smallest("Say hello.", "Grüße 😀").encode())
    assert load_machine(path).source_name == str(path)
    assert codes(str(path)) == []


def test_missing_files_and_directories_are_told_apart(tmp_path: Path) -> None:
    assert codes(tmp_path / "none.mkl") == ["file-missing"]
    assert codes(tmp_path) == ["file-is-directory"]


def test_a_file_behind_a_file_and_a_name_no_system_takes_are_unreadable(tmp_path: Path) -> None:
    (tmp_path / "m.mkl").touch()
    assert codes(tmp_path / "m.mkl" / "n.mkl") == ["file-unreadable"]
    assert codes("a\0b") == ["file-unreadable"]
    assert codes("x" * 5000) == ["file-unreadable"]


@pytest.mark.rule("W43")
def test_a_latin_1_file_is_said_not_to_be_utf_8_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "m.mkl"
    path.write_bytes("machine: m\nentry: gr\u00fc\u00df\n".encode("latin-1"))
    (found,) = read_file(path).diagnostics
    assert (found.code, found.span and (found.span.line, found.span.column)) == ("not-utf8", (2, 10))
    assert "0xFC" in found.message


@pytest.mark.rule("W43")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_utf_16_file_is_named_for_what_it_is(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "m.mkl"
    path.write_bytes("\ufeff".encode(encoding) + smallest().encode(encoding))
    (found,) = read_file(path).diagnostics
    assert found.code == "not-utf8"
    assert "UTF-16" in found.message


def test_a_file_above_the_size_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.mkl"
    path.write_bytes(b"#" * (8 * 1024 * 1024 + 1))
    assert codes(path) == ["file-too-large"]


def test_loading_raises_with_every_problem_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.mkl"
    path.write_text("machine: m\nbudget: 0\n")
    with pytest.raises(DocumentError) as caught:
        load_machine(path)
    assert [one.code for one in caught.value.diagnostics] == ["missing-key", "missing-key", "bad-value"]
    assert str(path) in str(caught.value)


def test_a_pipe_that_lies_about_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "z.mkl")
    source, problems = read_source(tmp_path / "z.mkl")
    assert source is None
    assert [found.code for found in problems] == ["file-unreadable"]


def test_a_link_that_leads_round_in_a_circle_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "loop.mkl").symlink_to(tmp_path / "loop.mkl")
    assert [name for name in library_around(tmp_path / "loop.mkl") if not name.startswith("std_")] == []
    source, problems = read_source(tmp_path / "loop.mkl")
    assert source is None
    assert [found.code for found in problems] == ["file-unreadable"]
