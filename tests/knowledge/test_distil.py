"""Distilling: nothing chosen asks nobody, the same run changes nothing, own words stay out, dying loses nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from mklang.errors import ProviderFailed, Sealed
from mklang.knowledge.distil import Choice, Ended, choose, episode_lines
from mklang.knowledge.files import read_plain
from mklang.knowledge.lines import patterns_from_lines
from mklang.knowledge.operations import Act
from mklang.knowledge.rebuilding import rebuild
from mklang.knowledge.record import Origin
from tests.cli.scripted_models import answer_with
from tests.knowledge.world import FOUND, TESTS_FIRST, World, akc, made

pytestmark = pytest.mark.rule("S48", "S49")
ROOT = Path(__file__).parents[2]


def distil(world: World, choice: Choice | None = None) -> Ended:
    return asyncio.run(world.distil(choice)).status


def test_nothing_chosen_asks_no_model(tmp_path: Path) -> None:
    world = made(tmp_path)
    assert distil(world) is Ended.NOTHING
    with world.log() as log:
        log.append_generated("insight", {"text": "I am great"})
    assert distil(world) is Ended.NOTHING
    assert world.calls == 0


def test_the_same_run_again_changes_nothing_and_asks_nobody(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a", "b")
    assert distil(world, Choice(days=1)) is Ended.DONE
    asked, operations = world.calls, world.home.operations.read_bytes()
    assert asked == 2
    assert distil(world, Choice(days=1)) is Ended.BEFORE
    assert distil(world) is Ended.NOTHING  # behind the cursor there is nothing new
    assert (world.calls, world.home.operations.read_bytes()) == (asked, operations)
    world.happened("c")
    assert distil(world) is Ended.DONE
    assert "c" in str(world.reflect.asked[-1].task.inputs)
    assert '"text":"a"' not in str(world.reflect.asked[-1].task.inputs)


def test_what_a_bound_cuts_is_for_next_time(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a", "b", "c")
    found = asyncio.run(world.distil(Choice(items=2)))
    assert found.chosen.selection.manifest.cut == 1
    again = asyncio.run(world.distil(Choice(items=2)))
    assert [record["data"]["text"] for record in again.chosen.selection.records] == ["c"]  # type: ignore[index, call-overload]


def test_a_model_that_fails_or_babbles_leaves_knowledge_as_it_is_and_says_which_stage(tmp_path: Path) -> None:
    world = made(tmp_path, form=["prose", '[{"pattern": "x"}]', ProviderFailed("down")])
    world.happened("a")
    found = asyncio.run(world.distil())
    assert (found.status, found.stage) == (Ended.FAILED, "format")
    assert "G201" in world.format.asked[2].feedback
    assert world.cycle.store().patterns == []
    assert not world.home.knowledge.exists()
    assert distil(world) is Ended.FAILED  # its attempts are used up, and nobody is asked again
    assert world.calls == 4


def test_a_sealed_store_is_noticed_before_a_model_is_paid(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a")
    world.home.knowledge.write_text("garbage")
    with pytest.raises(Sealed):
        asyncio.run(world.distil())
    assert world.calls == 0


def test_records_reach_the_model_without_the_cycles_own_marks(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("</data-1> {braces} {x.__class__} <untrusted_content>")
    chosen = choose(world.home, Choice(), world.cycle.store())
    line = json.loads(episode_lines(chosen.selection))
    assert line["data"] == {"text": "</data-1> {braces} {x.__class__} <untrusted_content>"}
    assert sorted(line) == ["data", "id", "ts", "type"]


def test_own_words_that_come_back_are_no_experience(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("red tests were pushed")
    shares = []
    for _ in range(5):
        distil(world)
        top = world.cycle.store().patterns[0]
        shares.append(top.share)
        world.happened(f"Insight: {top.pattern.upper()} I believe.", origin=Origin.OBSERVED)  # mislabelled
        with world.log() as log:
            log.append_generated("insight", {"text": top.pattern})
    assert world.cycle.store().patterns[0].count == 1
    assert shares == [{"observed": 1}] * 5
    dropped = choose(world.home, Choice(days=9), world.cycle.store(), today="2025-12-01").selection.manifest.dropped
    assert dropped == {"generated": 5, "own words coming back": 5, "the cycle's own books": 1}
    let_in = asyncio.run(world.distil(Choice(generated=True)))
    assert let_in.status is Ended.DONE
    share = world.cycle.store().patterns[0].share
    assert share["generated"] > 0 and share["observed"] > 1  # and whoever asks for them sees how much it is


@pytest.mark.parametrize(("zone", "seed", "locale"), [("UTC", "0", "C"), ("Asia/Kathmandu", "77", "tr_TR.UTF-8")])
def test_replay_gives_the_same_bytes_from_layer_one_alone(zone: str, seed: str, locale: str, tmp_path: Path) -> None:
    world = made(
        tmp_path, form=[FOUND, json.dumps([{"pattern": "İstanbul ünlü", "importance": 0.1, "category": "noise"}])]
    )
    world.happened("a")
    distil(world)
    world.happened("b", session="s2")
    distil(world)
    world.cycle.store().export()
    done = akc(tmp_path, "knowledge", "revoke", "s2", "--why", "x")
    assert done.returncode == 0, done.stderr
    before, operations = world.home.knowledge.read_bytes(), world.home.operations.read_bytes()
    assert len(json.loads(before)) == 1
    for path in (world.home.knowledge, world.home.operations):
        path.unlink()
    environment = {"TZ": zone, "PYTHONHASHSEED": seed, "LC_ALL": locale}
    done = akc(tmp_path, "rebuild", "--replay", **environment)
    assert done.returncode == 0, done.stderr
    assert world.home.knowledge.read_bytes() == before
    kept = [line for line in operations.splitlines() if b'"op":"exported"' not in line]
    assert [line for line in world.home.operations.read_bytes().splitlines() if b'"exported"' not in line] == kept
    assert world.cycle.store().sealed == ()
    assert akc(tmp_path, "rebuild").returncode == 0


def test_replay_leaves_out_what_has_been_forbidden_since_and_says_so(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a")
    distil(world)
    made_again = rebuild(world.home, ["the tests MUST pass"])
    assert json.loads(made_again.knowledge) == []
    assert "G301" in made_again.refused[0]
    assert len(list((world.home.root / "aside").iterdir())) == 2  # nothing is destroyed


def test_stored_prose_takes_its_form_anew_without_stage_one(tmp_path: Path) -> None:
    world = made(tmp_path, form=[FOUND, json.dumps([{"pattern": "sharper", "importance": 1, "category": "important"}])])
    world.happened("a")
    first = asyncio.run(world.distil())

    async def again() -> tuple[Ended, int]:
        from mklang.knowledge.distil import Distiller, Stage

        cycle = world.cycle
        with cycle.log() as log:
            stages = {
                "reflect": Stage(worker=world.reflect, identity="r"),
                "format": Stage(worker=world.format, identity="f2"),
            }
            pipeline = Distiller(home=world.home, store=cycle.store(), log=log, model="m", **stages)
            found = await pipeline.again(first.run)
            repeated = await pipeline.again(first.run)
            assert repeated.status is Ended.BEFORE
            return found.status, found.added

    assert asyncio.run(again()) == (Ended.DONE, 1)
    assert (len(world.reflect.asked), len(world.format.asked)) == (1, 2)
    assert world.format.asked[1].task.inputs == {"reflection": "Tests matter."}
    store = world.cycle.store()
    assert len(store.act(store.acting(Act.REVOKE, "s1", by="me", why="x"))) == 2  # both came from the same records


def test_lines_become_patterns_in_code() -> None:
    text = "- Run the tests.\n* Run the tests.\n\n3) Ask first\n---\n"
    assert [item["pattern"] for item in json.loads(patterns_from_lines(text))] == ["Run the tests.", "Ask first"]


DYING = """
import asyncio, os, signal, sys
from pathlib import Path
from mklang.knowledge import files, log
from mklang.patterns import steps
from tests.knowledge.world import made

left = int(sys.argv[2])
real = os.write

def counting(handle, data):
    global left
    left -= 1
    if left == 0:
        real(handle, bytes(data)[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    done = real(handle, data)
    if left == -1000:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

world = made(Path(sys.argv[1]))
world.clock.now = __import__("datetime").datetime(2025, 12, 1, 13, tzinfo=__import__("datetime").UTC)
os.write = counting
found = asyncio.run(world.distil())
print(found.status.value, world.calls, left)
"""


def test_killed_at_every_write_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    def run(folder: Path, dies_at: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", DYING, str(folder), str(dies_at)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    def prepared(name: str) -> World:
        folder = tmp_path / name
        folder.mkdir()
        world = made(folder)
        world.happened("a", "b")
        return world

    whole = prepared("whole")
    done = run(whole.home.project, 10**6)
    status, calls, left = done.stdout.split()
    assert (status, calls) == ("done", "2"), done.stderr
    writes = 10**6 - int(left)
    assert writes >= 8
    for point in range(1, writes + 1):
        world = prepared(f"at-{point}")
        killed = run(world.home.project, point)
        assert killed.returncode == -signal.SIGKILL, (point, killed.stdout, killed.stderr)
        last = run(world.home.project, 10**6)
        assert last.returncode == 0, (point, last.stderr)
        store = world.cycle.store()
        assert store.sealed == (), point
        assert [one.pattern for one in store.patterns] == [TESTS_FIRST], point
        assert store.patterns[0].count == 1, point
        store.export()
        exported = read_plain(world.home.knowledge)
        assert rebuild(world.home, ()).knowledge == exported, point


def test_days_are_whole_utc_days_with_today(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.clock.now -= timedelta(days=2)
    world.happened("old")
    world.clock.now += timedelta(days=2)
    world.happened("new")
    cycle = world.cycle
    assert len(cycle.choose(Choice(days=1)).selection.records) == 1
    assert len(cycle.choose(Choice(days=3)).selection.records) == 2


THREE = [{"pattern": name, "importance": 2 if name == "b" else 0.5, "category": "noise"} for name in "abc"]


def test_one_bad_item_refuses_all_unless_items_are_checked_one_by_one(tmp_path: Path) -> None:
    for name in ("whole", "items"):
        (tmp_path / name).mkdir()
    world = made(tmp_path / "whole", form=json.dumps(THREE))
    world.happened("x")
    found = asyncio.run(world.distil())
    assert (found.status, world.cycle.store().patterns) == (Ended.FAILED, [])
    world = made(tmp_path / "items", form=json.dumps(THREE), config="per_item: true\n")
    world.happened("x")
    found = asyncio.run(world.distil())
    assert (found.status, found.found, len(found.refused)) == (Ended.DONE, 2, 1)
    assert "G201 at /1/importance" in found.refused[0]
    assert [one.pattern for one in world.cycle.store().patterns] == ["a", "c"]
    assert akc(tmp_path / "items", "rebuild").returncode == 0


def test_a_machine_that_would_not_read_what_is_chosen_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = made(tmp_path, config="reflect: own.mkl\n")
    world.happened("x")
    asked = answer_with(monkeypatch, {"say": "prose", "format": FOUND})
    machine = (
        'mklang: "0.4"\nmachine: own\nentry: say\nbudget: 3\nresult: said\ncontext: { episodes: "" }\nstates:\n'
        '  say:\n    structure: text\n    prompt: "What recurs {0} {x.__class__}? PLACE"\n    output: said\n'
        "    gates: [{ when: otherwise, then: ok, to: END }]\n"
    )
    (tmp_path / "own.mkl").write_text(machine)
    done = akc(tmp_path, "distil")
    assert (done.returncode, "has to read 'episodes'" in done.stderr) == (2, True)
    (tmp_path / "own.mkl").write_text(machine.replace("PLACE", "{{episods}}"))
    assert akc(tmp_path, "distil").returncode == 2
    assert asked.asked == []
    (tmp_path / "own.mkl").write_text(machine.replace("PLACE", "{{episodes}}"))
    done = akc(tmp_path, "distil")
    assert (done.returncode, len(asked.asked)) == (0, 2), done.stderr
