"""The whole cycle: what happened becomes knowledge, a proposal, a person's decision, other behaviour, and is undone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mklang.engine.outcome import Done
from mklang.engine.requests import Answer, Produce, Produced, Request
from mklang.engine.run import arun
from mklang.knowledge.distil import Ended
from mklang.knowledge.patterns import pattern_id
from mklang.lang.reader import machine_from_text
from tests.knowledge.world import TESTS_FIRST, Person, akc, approve, made

pytestmark = pytest.mark.rule("S48", "S49")

WORK = """
mklang: "0.4"
machine: work
entry: work
budget: 2
context: { rules: "", task: "commit the change" }
states:
  work:
    structure: what to do next
    prompt: "Keep to these rules:\\n{{rules}}\\nTask: {{task}}"
    output: next
    gates: [{ when: otherwise, then: ok, to: END }]
"""


class Remembering:
    """A model that remembers what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def answer(self, request: Request, /) -> Answer:
        from mklang.engine.requests import Nonce, NonceValue

        if isinstance(request, Nonce):
            return NonceValue("n" * 32)
        assert isinstance(request, Produce)
        self.prompts.append(request.user)
        return Produced(text="fine")


def prompt_of_the_next_run(folder: Path) -> str:
    rules = json.loads(akc(folder, "rules", "--format", "json").stdout)["items"]
    oracle = Remembering()
    text = "\n".join(rule["text"] for rule in rules)
    outcome = asyncio.run(arun(machine_from_text(WORK, "work.mkl"), {"rules": text}, oracle=oracle))
    assert isinstance(outcome, Done)
    return oracle.prompts[0]


def test_experience_becomes_a_rule_and_a_revoked_source_takes_it_back(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("commit pushed with red tests", "reverted: tests were red", session="monday")
    found = asyncio.run(world.distil())
    assert (found.status, found.found, found.added) == (Ended.DONE, 1, 1)
    pattern = pattern_id(TESTS_FIRST)

    assert TESTS_FIRST not in prompt_of_the_next_run(tmp_path)
    proposed = akc(tmp_path, "propose", "--rule", TESTS_FIRST, "--from", pattern, "--why", "two reverts")
    assert proposed.returncode == 0, proposed.stderr
    assert not (tmp_path / "AGENTS.md").exists()

    shown = approve(tmp_path)
    assert "observed 2 (100%)" in shown
    assert f"- {TESTS_FIRST} <!-- akc {pattern} -->" in (tmp_path / "AGENTS.md").read_text()
    assert TESTS_FIRST in prompt_of_the_next_run(tmp_path)
    (rule,) = json.loads(akc(tmp_path, "rules", "--format", "json").stdout)["items"]
    assert (rule["patterns"], rule["target"]) == ([pattern], "AGENTS.md")
    assert rule["by"]

    revoked = akc(tmp_path, "knowledge", "revoke", "monday", "--why", "the log was of another project")
    assert revoked.returncode == 0, revoked.stderr
    assert json.loads((tmp_path / ".akc/knowledge.json").read_text()) == []
    assert TESTS_FIRST in (tmp_path / "AGENTS.md").read_text()  # until a person says so
    approve(tmp_path)
    assert "akc" not in (tmp_path / "AGENTS.md").read_text()
    assert TESTS_FIRST not in prompt_of_the_next_run(tmp_path)
    assert akc(tmp_path, "ledger", "verify").returncode == 0


def test_leaving_decides_nothing(tmp_path: Path) -> None:
    world = made(tmp_path)
    assert akc(tmp_path, "propose", "--rule", "Be kind.").returncode == 0
    person = Person(tmp_path, "review")
    shown = person.read()
    assert "+- Be kind." in shown
    assert "not the code" in person.type("y")
    assert person.type("q")
    assert person.leave() == 0
    assert not (tmp_path / "AGENTS.md").exists()
    assert [row.event.value for row in world.cycle.ledger().rows] == ["proposed"]
