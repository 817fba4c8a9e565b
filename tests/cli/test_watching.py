"""``--watch``: a run now, one after every change that has settled, and a quiet end. Time is the test's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mklang.cli import watching
from mklang.cli.main import main
from mklang.cli.output import Output
from mklang.cli.watching import stamps, watch
from mklang.errors import UsageError
from tests.cli.test_check import GOOD, write
from tests.testing.test_suites import PLAIN, TRIAGE


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def touch(name: str, text: str) -> None:
    """Write a file as a later moment would."""
    later = max((stamp[0] for stamp in stamps(["."]).values()), default=0) + 1_000_000_000
    write(name, text)
    os.utime(name, ns=(later, later))


def sleeping(*steps: Callable[[], None]) -> Callable[[float], None]:
    """A sleep that does one thing after the other, and then gets Ctrl-C."""
    waiting = list(steps)

    def sleep(seconds: float) -> None:
        assert seconds == watching.INTERVAL
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    return sleep


def nothing() -> None:
    """A look at which nothing has happened."""


def test_it_runs_now_and_after_every_change_that_has_settled(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", GOOD)
    seen: list[str] = []
    changes = [
        nothing,
        lambda: touch("a.mkl", "first half"),
        lambda: touch("a.mkl", "the whole"),
        nothing,
        nothing,
        lambda: touch("b.yaml", "new"),
        nothing,
        lambda: Path("b.yaml").unlink(),
        nothing,
    ]

    def run() -> int:
        seen.append(Path("a.mkl").read_text("utf-8"))
        return 0

    assert watch(run, ["a.mkl"], Output(), sleep=sleeping(*changes)) == 0
    assert seen == [GOOD, "the whole", "the whole", "the whole"]
    assert capsys.readouterr().err.count("watching for changes; Ctrl-C ends it") == 4


def test_what_is_hidden_or_no_machine_is_not_looked_at() -> None:
    Path(".git").mkdir()
    Path("sub").mkdir()
    for name in ("a.mkl", "notes.txt", ".git/b.mkl", "sub/c.test.yaml"):
        write(name, "x")
    assert sorted(stamps(["."])) == ["a.mkl", "sub/c.test.yaml"]


def test_a_run_that_cannot_be_is_told_and_the_watching_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", GOOD)

    def run() -> int:
        raise UsageError("not now")

    assert watch(run, ["a.mkl"], Output(), sleep=sleeping(lambda: touch("a.mkl", "x"), nothing)) == 0
    assert capsys.readouterr().err.count("error: not now") == 2


@pytest.mark.parametrize("command", [["check", "a.mkl"], ["lint", "a.mkl"], ["test", "triage.mkl"]])
def test_commands_watch(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.mkl", GOOD)
    write("triage.mkl", TRIAGE)
    write("triage.test.yaml", "scenarios:\n" + PLAIN)
    monkeypatch.setattr(watching.watch, "__kwdefaults__", {"sleep": sleeping()})
    assert main([*command, "--watch"]) == 0
    out, err = capsys.readouterr()
    assert "ok" in out or "PASS" in out
    assert err == "watching for changes; Ctrl-C ends it\n"
