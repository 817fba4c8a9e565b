"""The guide to the cycle is true: its commands run, in order, and print what it shows."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mklang.cli.commands.akc import COMMANDS
from mklang.knowledge.compliance.spec import read_spec
from tests.cli.scripted_models import answer_with
from tests.guards.test_documents import commands
from tests.knowledge.world import FOUND, akc

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/guides/knowledge.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
pytestmark = pytest.mark.rule("S48", "S49")


def run(command: str, folder: Path) -> str:
    text, _, line = command.rpartition(" | ")
    done = akc(folder, *shlex.split(line)[2:], text=shlex.split(text)[1] if text else "")
    return (done.stdout + done.stderr).strip()


def test_the_commands_run_in_order_and_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_with(monkeypatch, {"reflect": "prose", "format": FOUND})
    for language, text in BLOCKS:
        for command, expected in commands(text) if language == "console" else ():
            pattern = re.escape(expected).replace("…", ".*")
            assert re.fullmatch(pattern, run(command, tmp_path), re.DOTALL), (command, run(command, tmp_path))


def test_the_snippet_runs_and_the_spec_is_read(tmp_path: Path) -> None:
    for language, text in BLOCKS:
        if language == "python":
            done = subprocess.run(
                [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        elif language == "yaml":
            (tmp_path / "spec.yaml").write_text(text)
            assert [step.id for step in read_spec(tmp_path / "spec.yaml").steps] == ["tested", "no-force"]


def test_every_command_is_named_and_every_name_is_a_command() -> None:
    named = set(re.findall(r"\bakc\s+([a-z]+)\b", TEXT)) - {"sources"}
    assert set(COMMANDS) <= named
    assert named <= set(COMMANDS)


def test_every_command_helps_and_says_the_same_of_itself() -> None:
    import click

    from mklang.cli.commands.akc import command as group

    with click.Context(group, info_name="akc") as context:
        for name, entry in COMMANDS.items():
            command = group.get_command(context, name)
            assert command is not None
            assert command.short_help == entry.purpose, name


def test_what_is_public_is_there() -> None:
    import mklang.knowledge as package

    assert json.dumps(sorted(package.__all__)) == json.dumps(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError):
        package.nothing  # noqa: B018 - that is what is tried
