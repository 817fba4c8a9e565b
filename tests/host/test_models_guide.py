"""What the guide to models shows can be used as it stands (house style 24)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mklang.cli.commands.run import command
from mklang.host.config import read_config
from mklang.llm.fallback import OUTAGES, WORDS
from mklang.llm.profiles import PROFILES
from mklang.llm.retry import RETRIED, Limits

GUIDE = (Path(__file__).parents[2] / "docs/guides/models.md").read_text("utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_each_configuration_is_read_without_a_word(tmp_path: Path, text: str) -> None:
    (tmp_path / "runtime.yaml").write_text(text)
    config = read_config(str(tmp_path / "runtime.yaml"))
    assert config.warnings == ()
    assert config.provider().tiers


@pytest.mark.parametrize("line", [line for block in blocks("console") for line in block.splitlines()])
def test_each_command_is_understood(line: str) -> None:
    program, name, *arguments = shlex.split(line, comments=True)
    assert (program, name) == ("mklang", "run")
    assert command.make_context("run", arguments).params["machine"] == "machine.mkl"


def test_names_and_numbers_are_those_of_the_code() -> None:
    names = re.search(r"goes by the provider's name: (.*?)\.", GUIDE, re.DOTALL)
    assert names is not None
    assert set(re.findall(r"`(\w+)`", names[1])) == set(PROFILES)
    statuses = re.search(r"failure may pass: statuses (.*?), a lost", GUIDE, re.DOTALL)
    assert statuses is not None
    told = {n for first, last in re.findall(r"(\d{3})(?:-(\d{3}))?", statuses[1]) for n in _range(first, last)}
    assert told == RETRIED
    rules = re.search(r"kinds of them \(`5xx`\), and (.*?)\. Without", GUIDE, re.DOTALL)
    assert rules is not None
    assert set(re.findall(r"`(\w+)`", rules[1])) == WORDS
    default = re.search(r"Without `on` it is `\[(.*?)\]`", GUIDE)
    assert default is not None
    assert set(default[1].split(", ")) == OUTAGES
    assert f"requests at a time; {Limits().concurrency} unless said otherwise" in GUIDE


def _range(first: str, last: str) -> range:
    return range(int(first), int(last or first) + 1)
