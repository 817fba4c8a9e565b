"""Bringing records of elsewhere in: each once, with its origin, whatever the file holds and whoever dies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mklang.durable.journal import Begin, create_journal
from mklang.durable.service import describe
from mklang.engine.requests import Observation, Produced, Reply
from mklang.knowledge.importing import import_events
from mklang.knowledge.reading import Located, read_log
from mklang.lang.reader import machine_from_text
from mklang.oracles.recording import Answered
from tests.knowledge.test_cycle import WORK
from tests.knowledge.world import World, akc, made

pytestmark = pytest.mark.rule("S49")


def records(world: World) -> list[tuple[str, str, object]]:
    found = (one.record for one in read_log(world.home.logs) if isinstance(one, Located))
    return [(one.type, one.origin.value, one.data.get("text", one.data.get("output"))) for one in found]


def test_json_lines_come_in_by_a_mapping_and_once(tmp_path: Path) -> None:
    world = made(tmp_path)
    lines = [
        {"kind": "fix", "when": "2025-11-01", "about": {"chat": "c1"}, "text": "one"},
        {"kind": "Not A Type!", "text": "two"},
    ]
    (tmp_path / "x.jsonl").write_text("\n".join([*map(json.dumps, lines), "no json", "[1]", ""]))
    mapped = ["--map", "type=kind", "--map", "time=when", "--map", "session=about.chat", "--origin", "human"]
    done = akc(tmp_path, "log", "import", "x.jsonl", "--as", "jsonl", *mapped)
    assert (done.returncode, done.stdout) == (1, "2 events read, 2 of them new\n")
    assert "x.jsonl:3: not JSON" in done.stderr and "x.jsonl:4: an object" in done.stderr
    assert records(world) == [("fix", "human", "one"), ("observation", "human", "two")]
    first = next(one.record for one in read_log(world.home.logs) if isinstance(one, Located))
    assert (first.mark["session"], first.mark["at"]) == ("c1", "2025-11-01")
    assert (
        akc(tmp_path, "log", "import", "x.jsonl", "--as", "jsonl", *mapped).stdout == "2 events read, 0 of them new\n"
    )


def test_a_log_of_the_reference_is_read_and_brought_in(tmp_path: Path) -> None:
    world = made(tmp_path)
    theirs = [
        {"ts": "2025-11-30T10:00:00.123456+00:00", "type": "action", "data": {"text": "ran tests"}},
        {"ts": "2025-11-30T10:01:00Z", "type": "insight", "data": {}},
    ]
    (world.home.logs / "2025-11-30.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in theirs))
    assert [kind for kind, origin, _ in records(world)] == ["action", "insight"]
    assert {origin for _, origin, _ in records(world)} == {"unknown"}
    assert akc(tmp_path, "log", "verify").returncode == 0
    (tmp_path / "their.jsonl").write_text(json.dumps(theirs[0]))
    assert akc(tmp_path, "log", "import", "their.jsonl", "--as", "jsonl").returncode == 0
    assert records(world)[-1] == ("action", "observed", "ran tests")


def test_a_run_of_ours_comes_in_with_who_said_what(tmp_path: Path) -> None:
    world = made(tmp_path)
    machine = machine_from_text(WORK, "work.mkl")
    begin = Begin(format=1, run="r1", created=1.0, mklang="x", machines=describe(machine, {}), inputs={"rules": "x"})
    journal = create_journal(tmp_path / "run.jsonl", begin)

    async def write() -> None:
        for key, answer in (
            ("1:work/produce", Produced(text="a plan")),
            ("2:look/tool", Observation(text="a file")),
            ("3:ask/ask", Reply(values={"human.reply": "yes"})),
        ):
            await journal.append(Answered(key=key, digest="d", answer=answer))

    asyncio.run(write())
    journal.close()
    for _ in range(2):
        assert akc(tmp_path, "log", "import", "run.jsonl", "--as", "journal").returncode == 0
    assert records(world) == [
        ("session", "observed", None),
        ("produced", "generated", "a plan"),
        ("tool_result", "observed", "a file"),
        ("reply", "human", None),
    ]


def test_what_is_known_is_found_again_in_the_log_when_the_books_are_lost(tmp_path: Path) -> None:
    world = made(tmp_path)
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    akc(tmp_path, "log", "import", "x.jsonl", "--as", "jsonl")
    for damage in (lambda path: path.unlink(), lambda path: path.write_text("{torn")):
        damage(world.home.imports / "jsonl.json")
        again = akc(tmp_path, "log", "import", "x.jsonl", "--as", "jsonl")
        assert again.stdout == "2 events read, 0 of them new\n"


def test_dying_between_the_log_and_the_books_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mklang.knowledge.adapters.json_lines import Mapping, json_lines

    world = made(tmp_path)
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n{"a": 2}\n')

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("mklang.knowledge.importing.replace_file", dies)
        with pytest.raises(KeyboardInterrupt), world.log() as log:
            import_events(world.home, log, "jsonl", json_lines(tmp_path / "x.jsonl", Mapping()))
    with world.log() as log:
        done = import_events(world.home, log, "jsonl", json_lines(tmp_path / "x.jsonl", Mapping()))
    assert (done.new, len(records(world))) == (0, 2)


@pytest.mark.parametrize("words", [["--as", "claude-code", "--map", "type=x"], ["--as", "jsonl", "--map", "x"], []])
def test_flags_that_mean_nothing_are_refused(words: list[str], tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "x.jsonl").write_text("{}\n")
    assert akc(tmp_path, "log", "import", "x.jsonl", *words).returncode == 2
    assert akc(tmp_path, "log", "import", "gone.jsonl", "--as", "jsonl").returncode == 2
