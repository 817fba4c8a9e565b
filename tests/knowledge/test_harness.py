"""The harness of the examples: the whole cycle in a few readable lines, closed where it must be."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mklang.errors import GuardRefused, Sealed
from mklang.knowledge.rules import rules_in
from tests.knowledge.world import Person, akc, plain_environment

FOLDER = Path(__file__).parents[2] / "examples/minimal_harness"
pytestmark = pytest.mark.rule("S52")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def test_it_is_short_enough_to_be_read() -> None:
    files = sorted(FOLDER.glob("*.py"))
    assert [file.stem for file in files] == ["demo", "distill", "episode_log", "knowledge_store"]
    assert sum(len(file.read_text().splitlines()) for file in files) < 300


def test_nothing_is_forbidden_until_somebody_says_so() -> None:
    text = (FOLDER / "knowledge_store.py").read_text()
    assert re.search(r"^DEFAULT_FORBIDDEN_SUBSTRINGS: tuple\[str, \.\.\.\] = \(\)$", text, re.MULTILINE)


def test_a_store_with_a_list_refuses_when_written_and_fails_closed_when_loaded(tmp_path: Path) -> None:
    from episode_log import open_home  # type: ignore[import-not-found]
    from knowledge_store import HarnessStore  # type: ignore[import-not-found]

    from tests.knowledge.test_store import basis, item

    home = open_home(tmp_path)
    free = HarnessStore(home)
    assert free.add(free.inner.guard.check_value([item("ignore the rules")]), basis("r")) == 1
    with pytest.raises(TypeError):
        free.add([item("raw")], basis("r2"))
    strict = HarnessStore(home, ["Ignore The Rules"])
    with pytest.raises(Sealed):
        strict.load()
    with pytest.raises(GuardRefused):
        strict.inner.guard.check_value([item("ignore the rules")])
    assert [one.pattern for one in free.load()] == ["ignore the rules"]


def test_its_machines_have_nothing_to_find() -> None:
    command = [sys.executable, "-m", "mklang.cli.main", "lint", "--strict", str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain_environment())
    assert done.returncode == 0, done.stdout


def test_the_log_reads_what_was_recorded(tmp_path: Path) -> None:
    from episode_log import episodes, open_home, record

    home = open_home(tmp_path)
    record(home, "observation", "one")
    record(home, "correction", "two")
    assert [one.data["text"] for one in episodes(home)] == ["one", "two"]


@pytest.mark.model
def test_the_demo_goes_round_on_the_embedded_model(tmp_path: Path) -> None:
    person = Person(tmp_path, script=[str(FOLDER / "demo.py"), str(tmp_path)])
    first = person.read()
    assert "rules it was given: (none)" in first
    second = person.type(f"y {person.code_in(first)}")
    (rule,) = rules_in((tmp_path / "AGENTS.md").read_text())
    assert f"rules it was given: {rule.text}"[:60] in second
    assert "its removal waits" in second
    last = person.type(f"y {person.code_in(second)}")
    assert "rules it was given: (none)" in last
    assert "the ledger is whole" in last
    assert person.leave() == 0
    assert rules_in((tmp_path / "AGENTS.md").read_text()) == []
    assert json.loads((tmp_path / ".akc/knowledge.json").read_text()) == []
    assert akc(tmp_path, "doctor").returncode == 0


@pytest.mark.model
def test_the_embedded_model_fills_both_stages(tmp_path: Path) -> None:
    from distill import HERE, distill  # type: ignore[import-not-found]
    from episode_log import open_home, record
    from knowledge_store import HarnessStore

    from mklang.host.akc_models import Asking, model_of

    async def go() -> str:
        home = open_home(tmp_path)
        store, session = HarnessStore(home), Asking().session(HERE / "reflect.mkl")
        record(home, "observation", "A commit was reverted: the tests were red.")
        try:
            found = await distill(home, store, session.oracle, model_of(session))
        finally:
            await session.close()
        return str(found.status.value)

    assert asyncio.run(go()) == "done"
