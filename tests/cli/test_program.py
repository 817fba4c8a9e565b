"""The program as the shell sees it: help, version, exit codes, closed pipes, Ctrl-C, broken output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mklang
from mklang.cli.main import COMMANDS, LazyGroup, cli, main
from mklang.cli.model_flags import MANNERS
from mklang.host.judge_config import Manner

PROGRAM = [sys.executable, "-m", "mklang.cli.main"]


def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own."""
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, timeout=60, env={**os.environ, **environment}, check=False
    )


def imported_by(arguments: Sequence[str]) -> set[str]:
    """The modules in memory when the program ends."""
    script = (
        f"import sys; from mklang.cli.main import main; main({list(arguments)!r}); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True, text=True)
    return set(done.stderr.split())


@pytest.mark.rule("L106")
def test_no_arguments_print_a_short_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    captured = capsys.readouterr()
    assert all(name in captured.out for name in COMMANDS)
    assert captured.err == ""


@pytest.mark.rule("L106")
def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mklang {mklang.__version__}\n"


def test_every_command_of_the_table_exists_and_says_the_same_of_itself() -> None:
    assert isinstance(cli, LazyGroup)
    with cli.make_context("mklang", ["check", "x"]) as ctx:
        for name, entry in COMMANDS.items():
            command = cli.get_command(ctx, name)
            assert command is not None
            assert command.short_help == entry.purpose


def test_help_imports_no_command() -> None:
    modules = imported_by(["--help"])
    assert not {name for name in modules if name.startswith(("mklang.lang", "mklang.engine", "mklang.cli.commands"))}
    assert not modules & {"msgspec", "rich", "asyncio", "yaml"}


@pytest.mark.parametrize("command", ["check", "lint", "fmt"])
def test_looking_at_a_document_needs_neither_a_run_nor_rich(command: str, tmp_path: Path) -> None:
    file = tmp_path / "m.mkl"
    file.write_text("machine: m\n", "utf-8")
    assert not imported_by([command, str(file)]) & {"msgspec", "rich", "asyncio", "mklang.engine"}


def test_the_flag_knows_every_way_to_judge() -> None:
    assert list(MANNERS) == [manner.value for manner in Manner]


@pytest.mark.parametrize(("typed", "meant"), [("chekc", "check"), ("rn", "run"), ("Check", "check")])
def test_a_mistyped_command_is_a_usage_error_that_names_the_nearest(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([typed]) == 2
    assert f"'{meant}'" in capsys.readouterr().err


@pytest.mark.rule("L107")
@pytest.mark.parametrize("arguments", [["--nonsense"], ["check"], ["check", "--format", "xml", "m.mkl"], ["run"]])
def test_wrong_flags_exit_2_and_say_so_on_stderr(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Error:" in captured.err


def test_a_bug_is_one_line_and_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the [bold]wheel\x1b[0m came off")

    monkeypatch.setattr(cli, "main", broken)
    assert main(["check", "x"]) == 2
    error = capsys.readouterr().err
    assert "RuntimeError: the [bold]wheel\\x1b[0m came off" in error
    assert "MKLANG_DEBUG=1" in error
    assert "Traceback" not in error
    monkeypatch.setenv("MKLANG_DEBUG", "1")
    assert main(["check", "x"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.rule("W15", "L107")
@pytest.mark.parametrize("arguments", [["--help"], ["check", "FILE"], ["check", "FILE", "--format", "json"]])
def test_a_reader_that_leaves_ends_nothing_early_and_nothing_loudly(arguments: list[str], tmp_path: Path) -> None:
    file = tmp_path / "m.mkl"
    file.write_text("".join(f"key_{number}: 1\n" for number in range(5000)), "utf-8")
    words = [str(file) if word == "FILE" else word for word in arguments]
    with subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == (1 if "check" in arguments else 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"error: ")


def test_no_stdout_at_all_is_no_crash() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m mklang.cli.main --help >&-"], stderr=subprocess.PIPE, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_argument_that_is_not_text_is_shown_with_its_bytes_escaped() -> None:
    done = subprocess.run([*PROGRAM.copy(), b"check", b"caf\xe9.mkl"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"caf\\udce9.mkl" in done.stdout
    assert done.stderr == b""


@pytest.mark.rule("L107")
def interrupted(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a program says that is interrupted, and again if that fell into the instant before it began to wait."""
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    raise AssertionError("the program does not end")


def test_ctrl_c_is_one_line_and_130(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    command = [*PROGRAM, "check", f"/dev/fd/{reader}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(reader,), cwd=tmp_path
    ) as process:
        os.write(writer, b"#" * 100_000)  # more than a pipe holds: returns once the program reads
        out, err = interrupted(process)
    os.close(reader)
    os.close(writer)
    assert (process.returncode, out) == (130, b"")
    assert err.strip() == b"interrupted"


@pytest.mark.parametrize(("stream", "code"), [("stdout", 2), ("stderr", 0)])
def test_a_full_disk_under_stdout_is_said_once_and_under_stderr_costs_nothing(
    tmp_path: Path, stream: str, code: int
) -> None:
    (tmp_path / "m.mkl").write_text(
        "machine: m\nentry: a\nbudget: 3\nstates:\n  a:\n    structure: s\n    prompt: p\n    output: o\n"
        "    gates: [{when: otherwise, then: ok, to: END}]\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mklang.cli.main", "check", "m.mkl"],
            cwd=tmp_path,
            text=True,
            check=False,
            **pipes | {stream: full},  # type: ignore[call-overload]
        )
    assert done.returncode == code
    assert "bug" not in (done.stderr or "")
    assert ((done.stderr or "").count("could not be written")) == (stream == "stdout")
