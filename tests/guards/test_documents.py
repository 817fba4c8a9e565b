"""The pages about guards and patterns are true: every file, command and snippet in them is used as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = ("docs/guides/guards.md", "docs/explanation/code-and-llm.md")
SKILLS = ("when-code-when-llm", "code-and-llm-collaboration")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.rule("S41", "S45")
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_works(page: str, tmp_path: Path) -> None:
    for language, text in _BLOCK.findall((ROOT / page).read_text("utf-8")):
        if language == "yaml":
            name, _, content = text.removeprefix("# file: ").partition("\n")
            (tmp_path / name).write_text(content, "utf-8")
        elif language == "python":
            done = subprocess.run(
                [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        else:
            assert language == "console"
            for command, expected in commands(text):
                assert output_of(command, tmp_path) == expected, command


def commands(text: str) -> list[tuple[str, str]]:
    """Each command with the output that the page shows."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2].strip()) for part in parts]


def output_of(command: str, folder: Path) -> str:
    """What a shell prints, both streams, with the exit code where it is not 0."""
    program = f"{shlex.quote(sys.executable)} -m mklang.cli.main"
    line = re.sub(r"\bmklang (?=\w+ )", f"{program} ", command)
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    code = f"\n[exit {done.returncode}]" if done.returncode else ""
    return f"{(done.stdout + done.stderr).strip()}{code}"


@pytest.mark.rule("S47", "S51")
@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_can_be_loaded_and_names_only_what_exists(name: str) -> None:
    text = (ROOT / f"docs/skills/{name}/SKILL.md").read_text("utf-8")
    front, body = text.removeprefix("---\n").split("---\n", 1)
    head = yaml.safe_load(front)
    assert head["name"] == name
    assert 40 < len(head["description"]) < 500
    assert len(text.splitlines()) < 120
    from mklang import guards, patterns
    from mklang.cli.main import COMMANDS

    for command in re.findall(r"`[^`]*\bmklang (\w+)", body):
        assert command in COMMANDS
    for word in re.findall(r"`(?:mklang\.guards\.)?(Guard|write_checked|Filter|Judge|Enforce|Orchestrator)`", body):
        assert hasattr(guards, word) or hasattr(patterns, word)
    other = SKILLS[1 - SKILLS.index(name)]
    assert other in body


@pytest.mark.rule("S47")
def test_the_single_task_test_is_the_first_thing_a_skill_says() -> None:
    text = (ROOT / "docs/skills/when-code-when-llm/SKILL.md").read_text("utf-8")
    assert text.index("could the same bytes be right in one context and wrong in another?") < 1000
