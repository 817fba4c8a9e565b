"""Nothing outside a workspace is read or written, however a path is written and whatever lies in the folder (Z4)."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mklang.tools.files import file_tools
from mklang.tools.registry import ToolRegistry
from mklang.tools.workspace import MAX_BYTES, Workspace
from tests.tools.calling import told


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace beside things that are none of its business."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "root-evil").mkdir()
    (tmp_path / "root-evil" / "x.txt").write_text("secret")
    root = tmp_path / "root"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "a.txt").write_text("hello ä")
    (root / ".hidden").write_text("secret")
    (root / "out").symlink_to(tmp_path)
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "new.txt").symlink_to(tmp_path / "made.txt")  # leads to what does not exist yet
    (root / "inner").symlink_to(root / "notes")
    os.mkfifo(root / "pipe.txt")
    return root


OUTSIDE = [
    "../secret.txt",
    "notes/../../secret.txt",
    "notes/../notes/a.txt",
    "/etc/passwd",
    "~/x.txt",
    "~root/x.txt",
    "C:/x.txt",
    "c:x.txt",
    "\\\\host\\share.txt",
    "..\\secret.txt",
    "notes\\..\\..\\secret.txt",
    "../root-evil/x.txt",
    "out/secret.txt",
    "out.txt",
    "new.txt",
    "inner/a.txt",
    ".hidden",
    "notes/.git/x.txt",
    "./notes/a.txt",
    "notes//a.txt",
    "a\0b.txt",
    "a\nb.txt",
    "x" * 300 + ".txt",
    "file:x.txt",
    "\ud800.txt",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(root: Path, path: str) -> None:
    before = sorted(str(one) for one in root.parent.rglob("*"))
    tools = ToolRegistry(file_tools(Workspace(root, writable=True)))
    read = told(tools, "read_file", path=path)
    wrote = told(tools, "write_file", path=path, content="x", overwrite=True)
    assert (read["status"], wrote["status"], wrote["written"]) == ("error", "error", False)
    assert "secret" not in json.dumps({**read, "path": "", "error": ""})
    assert sorted(str(one) for one in root.parent.rglob("*")) == before
    assert (root.parent / "secret.txt").read_text() == "secret"


@given(st.text(alphabet="./\\~:ab\0 ", max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_no_odd_path_writes_outside(root: Path, path: str) -> None:
    tools = ToolRegistry(file_tools(Workspace(root, writable=True)))
    told(tools, "write_file", path=f"{path}.txt", content="x")
    assert sorted(one.name for one in root.parent.iterdir()) == ["root", "root-evil", "secret.txt"]
    assert [one.name for one in (root.parent / "root-evil").iterdir()] == ["x.txt"]


@pytest.mark.rule("L105")
def test_files_are_listed_read_and_written(root: Path) -> None:
    tools = ToolRegistry(file_tools(Workspace(root, writable=True)))
    listed = told(tools, "list_files")
    assert listed["entries"] == [{"name": "notes", "kind": "dir"}]  # no links, nothing hidden, no pipe
    assert told(tools, "list_files", path="notes/")["entries"] == [{"name": "a.txt", "kind": "file", "bytes": 8}]
    read = told(tools, "read_file", path="notes/a.txt", max_bytes="7")
    assert (read["content"], read["bytes"], read["truncated"]) == ("hello �", 8, True)
    wrote = told(tools, "write_file", path="deep/er/b.md", content="ö")
    assert (wrote["bytes"], wrote["written"], wrote["existed"], wrote["stub"]) == (2, True, False, False)
    assert (root / "deep/er/b.md").read_text() == "ö"
    assert stat.S_IMODE((root / "deep/er/b.md").stat().st_mode) == 0o600
    assert [one.name for one in (root / "deep/er").iterdir()] == ["b.md"]


def test_a_file_is_replaced_only_when_that_is_said(root: Path) -> None:
    tools = ToolRegistry(file_tools(Workspace(root, writable=True)))
    refused = told(tools, "write_file", path="notes/a.txt", content="x")
    assert (refused["written"], refused["existed"]) == (False, True)
    assert (root / "notes/a.txt").read_text() == "hello ä"
    replaced = told(tools, "write_file", path="notes/a.txt", content="x", overwrite="true")
    assert (replaced["written"], replaced["existed"]) == (True, True)


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("run.mkl", "x", "not of a kind"),
        ("run.sh", "x", "not of a kind"),
        ("run", "x", "not of a kind"),
        ("big.txt", "x" * (MAX_BYTES + 1), "more than the"),
        ("notes", "x", "not of a kind"),
        ("notes/a.txt/b.txt", "x", "not a folder"),
        ("pipe.txt", "x", "no file"),
        ("", "x", "names no file"),
        ("bad.txt", "\ud800", "UnicodeEncodeError"),
    ],
)
def test_what_may_not_be_written_is_refused_and_says_why(root: Path, path: str, content: str, reason: str) -> None:
    report = told(ToolRegistry(file_tools(Workspace(root, writable=True))), "write_file", path=path, content=content)
    assert report["status"] == "error"
    assert reason in report["error"]


def test_without_a_grant_nothing_is_written_not_even_a_folder(root: Path) -> None:
    report = told(ToolRegistry(file_tools(Workspace(root))), "write_file", path="new/x.txt", content="x")
    assert "not granted" in report["error"]
    assert not (root / "new").exists()


def test_a_pipe_and_a_folder_are_no_files_and_nobody_waits(root: Path) -> None:
    tools = ToolRegistry(file_tools(Workspace(root)))
    assert "no file" in told(tools, "read_file", path="pipe.txt")["error"]
    assert "no file" in told(tools, "read_file", path="notes")["error"]
    assert "no 'nowhere.txt'" in told(tools, "read_file", path="nowhere.txt")["error"]
    assert "not a folder" in told(tools, "list_files", path="notes/a.txt")["error"]


def test_a_folder_that_becomes_a_link_while_it_is_used_leads_nowhere(root: Path, monkeypatch: Any) -> None:
    """The check and the use are one step: what is swapped in between is found when it is opened."""
    real = os.mkdir

    def swap(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        real(name, mode, dir_fd=dir_fd)
        (root / "fresh").rmdir()
        (root / "fresh").symlink_to(root.parent)

    monkeypatch.setattr(os, "mkdir", swap)
    report = told(
        ToolRegistry(file_tools(Workspace(root, writable=True))), "write_file", path="fresh/x.txt", content="x"
    )
    assert "a link" in report["error"]
    assert not (root.parent / "x.txt").exists()


def test_a_huge_file_costs_what_is_shown(tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.truncate(3_000_000_000)
    report = told(ToolRegistry(file_tools(Workspace(tmp_path))), "read_file", path="huge.log", max_bytes=100)
    assert (len(report["content"]), report["bytes"], report["truncated"]) == (100, 3_000_000_000, True)


def test_two_workspaces_do_not_see_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = ToolRegistry(file_tools(Workspace(tmp_path / "a", writable=True)))
    two = ToolRegistry(file_tools(Workspace(tmp_path / "b")))
    assert told(one, "write_file", path="x.txt", content="x")["written"] is True
    assert told(two, "write_file", path="x.txt", content="x")["written"] is False
    assert told(two, "list_files")["count"] == 0


def test_without_a_workspace_the_tools_say_so() -> None:
    report = told(ToolRegistry(file_tools(None)), "list_files")
    assert (report["stub"], report["status"]) == (True, "error")
