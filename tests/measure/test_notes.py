"""The notes on what was measured: what it costs, how to read it, and what is never confused with what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def note(name: str) -> str:
    return " ".join((DOCS / name).read_text("utf-8").split())


@pytest.mark.rule("S14")
@pytest.mark.parametrize("name", ["llm-lint", "gate-divergence"])
def test_a_note_says_what_it_costs_how_to_read_it_and_what_was_run(name: str) -> None:
    text = (DOCS / f"experiments/{name}.md").read_text("utf-8")
    for heading in ("## What it costs", "## How to read it", "## What it can not show", "## What was run"):
        assert heading in text
    assert re.search(r"^\| 2026-\d\d-\d\d \|", text, re.MULTILINE)


@pytest.mark.rule("S3")
def test_measuring_the_interpreter_and_measuring_the_judge_are_kept_apart() -> None:
    assert "It says nothing about the interpreter" in note("experiments/llm-lint.md")
    assert "does *this implementation* keep to the language?" in note("guides/measuring-prose.md")
    assert "None stands in for another" in note("guides/testing.md")


@pytest.mark.rule("S31")
def test_the_status_stays_proposed_until_somebody_decides() -> None:
    text = note("experiments/gate-divergence.md")
    assert "Path C" in text
    assert "proposed" in text
