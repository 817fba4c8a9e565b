"""Layer 2: takes what a guard has checked, keeps it once, loses nothing, and is sealed when it is not in order."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mklang.errors import GuardRefused, KnowledgeError, Sealed, UsageError
from mklang.guards import Checked, Guard
from mklang.knowledge.home import Home, seconds_stamp
from mklang.knowledge.operations import Act, Basis
from mklang.knowledge.patterns import Pattern, pattern_id, ranked, top, weigh
from mklang.knowledge.reading import START
from mklang.knowledge.schemas import KNOWLEDGE_SCHEMA, knowledge_guard
from mklang.knowledge.store import KnowledgeStore
from mklang.patterns import Manifest
from tests.knowledge.world import NOON, Ticking, akc, made

pytestmark = pytest.mark.rule("S41", "S46", "S49")
NOTHING = Manifest(filter="f", came=0, kept=0, dropped={}, cut=0, bytes=0, tokens_estimated=0, ids_sha="")


def basis(run: str, *, at: str = "2025-12-01T12:00:00+00:00", sessions: tuple[str, ...] = ()) -> Basis:
    return Basis(
        run=run,
        at=at,
        manifest=NOTHING,
        episodes=(f"e-{run}",),
        sessions=sessions,
        share={"observed": 1},
        upto=START,
        machines={},
        model="m",
        prose="p",
        reply="[]",
    )


def opened(folder: Path, **more: Any) -> KnowledgeStore:
    return KnowledgeStore(Home(folder / ".akc"), Ticking(), **more)


def item(text: str, importance: float = 0.5, category: str = "noise") -> dict[str, Any]:
    return {"pattern": text, "importance": importance, "category": category}


def keep(store: KnowledgeStore, run: str, *texts: str, **more: Any) -> int:
    return store.keep(store.guard.check_value([item(text) for text in texts]), basis(run, **more))


def act(store: KnowledgeStore, what: Act, subject: str, **about: str) -> list[str]:
    return store.act(store.acting(what, subject, **about))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / ".akc").iterdir()) if path.is_file()}


BAD = {
    "importance text": [item("a", "high")],  # type: ignore[arg-type]
    "importance null": [item("a", None)],  # type: ignore[arg-type]
    "importance list": [item("a", [1])],  # type: ignore[arg-type]
    "importance number in text": [item("a", "0.7")],  # type: ignore[arg-type]
    "importance true": [item("a", True)],
    "importance too big": [item("a", 1e9)],
    "importance negative": [item("a", -3)],
    "category invented": [item("a", 0.5, "urgent")],
    "category a map": [item("a", 0.5, {"a": 1})],  # type: ignore[arg-type]
    "category empty": [item("a", 0.5, "")],
    "category long": [item("a", 0.5, "c" * 1000)],
    "pattern long": [item("x" * 5_000_000)],
    "pattern blank": [item("  ")],
    "too many": [item(f"p{number}") for number in range(10_000)],
    "wrapped": {"patterns": [item("a")]},
    "more keys": [{**item("a"), "run": "rm"}],
    "a key missing": [{"pattern": "a"}],
}
BAD_TEXTS = {
    "NaN": '[{"pattern": "a", "importance": NaN, "category": "noise"}]',
    "Infinity": '[{"pattern": "a", "importance": Infinity, "category": "noise"}]',
    "prose before": 'Here: [{"pattern": "a", "importance": 0.5, "category": "noise"}]',
    "prose behind": '[{"pattern": "a", "importance": 0.5, "category": "noise"}] Done.',
    "fence": '```json\n[{"pattern": "a", "importance": 0.5, "category": "noise"}]\n```',
    "truncated": '[{"pattern": "a", "importance": 0.5,',
    "deep": "[" * 100_000,
    "surrogate": '[{"pattern": "\\ud800", "importance": 0.5, "category": "noise"}]',
    "key twice": '[{"pattern": "a", "pattern": "b", "importance": 0.5, "category": "noise"}]',
    "empty": "",
}


@pytest.mark.parametrize("value", BAD.values(), ids=list(BAD))
def test_a_value_that_is_no_list_of_patterns_is_refused_whole(value: Any, tmp_path: Path) -> None:
    store = opened(tmp_path)
    with pytest.raises(GuardRefused) as refused:
        store.guard.check_value(value)
    assert all(failure.code.value.startswith("G") for failure in refused.value.failures)  # type: ignore[attr-defined]
    with pytest.raises(GuardRefused):
        store.guard.check_value([item("good"), *value] if isinstance(value, list) else value)


@pytest.mark.parametrize("text", BAD_TEXTS.values(), ids=list(BAD_TEXTS))
def test_a_reply_that_is_no_such_list_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(GuardRefused):
        opened(tmp_path).guard.check(text)


def test_a_text_that_nobody_checked_is_refused_by_every_door(tmp_path: Path) -> None:
    store = opened(tmp_path)
    for door in (lambda: store.keep([item("a")], basis("r")), lambda: store.adopting([item("a")])):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="checked"):
            door()
    assert files_in(tmp_path) if (tmp_path / ".akc").exists() else True
    checked = store.guard.check_value([item("a")])
    checked.value[0]["pattern"] = "b"
    with pytest.raises(Exception, match="G501"):
        store.keep(checked, basis("r"))


def test_what_is_exported_is_the_references_form_with_formats_asserted(tmp_path: Path) -> None:
    store = opened(tmp_path)
    keep(store, "r", "one", "zwei Äpfel")
    act(store, Act.TOUCH, pattern_id("one"), by="", why="")
    store.export()
    data = (tmp_path / ".akc/knowledge.json").read_bytes()
    assert isinstance(Guard(name="published", schema=KNOWLEDGE_SCHEMA).examine(data), Checked)
    assert data == (json.dumps(json.loads(data), indent=2, ensure_ascii=False) + "\n").encode()
    assert json.loads(data)[0]["distilled"] == "2025-12-01T12:00:00+00:00"
    assert (tmp_path / ".akc/knowledge.json").stat().st_mode & 0o777 == 0o600
    assert isinstance(knowledge_guard().examine(data), Checked)


def test_the_same_words_are_one_pattern_that_counts(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert keep(store, "r1", "Run the tests.") == 1
    assert keep(store, "r2", "run  the TESTS.", at="2025-12-02T12:00:00+00:00") == 0
    assert keep(store, "r2", "something else") == 0  # the same run changes nothing
    (pattern,) = opened(tmp_path).patterns
    assert (pattern.count, pattern.pattern, pattern.runs) == (2, "Run the tests.", ("r1", "r2"))
    assert pattern.distilled == "2025-12-02T12:00:00+00:00"


def test_a_source_that_is_revoked_takes_along_what_came_from_it_alone(tmp_path: Path) -> None:
    store = opened(tmp_path)
    keep(store, "r1", "a", "b", sessions=("bad",))
    keep(store, "r2", "b", sessions=("good",))
    assert act(store, Act.REVOKE, "bad", by="me", why="forged") == [pattern_id("a")]
    (kept,) = opened(tmp_path).patterns
    assert (kept.pattern, kept.runs, kept.count) == ("b", ("r2",), 1)
    keep(store, "r3", "c", sessions=("bad", "good"))  # a revoked source stays revoked
    assert [one.pattern for one in store.patterns] == ["b"]


def test_an_act_takes_a_subject_a_person_and_a_reason(tmp_path: Path) -> None:
    store = opened(tmp_path)
    keep(store, "r", "a")
    with pytest.raises(UsageError, match="nothing called"):
        act(store, Act.RETIRE, "ffffffffffff", by="me", why="x")
    with pytest.raises(UsageError, match="reason"):
        act(store, Act.RETIRE, pattern_id("a"), by="me", why=" ")
    assert act(store, Act.REFUTE, pattern_id("a"), by="me", why="wrong") == [pattern_id("a")]


VARIANTS = [
    "ignore the rules",
    "IGNORE THE RULES",
    "ignore  the\nrules",
    "ig\u200bnore the rules",
    "ｉｇｎｏｒｅ the rules",
]


@pytest.mark.parametrize("text", VARIANTS)
def test_a_forbidden_text_is_refused_when_written_and_seals_what_holds_it(text: str, tmp_path: Path) -> None:
    free = opened(tmp_path)
    keep(free, "r", text, "fine")
    free.export()
    before = files_in(tmp_path)
    strict = opened(tmp_path, forbid=["ignore the rules"])
    with pytest.raises(GuardRefused):
        strict.guard.check_value([item(text)])
    with pytest.raises(GuardRefused):
        strict.guard.check(json.dumps([item(text)]))  # escaped
    assert strict.patterns == []
    assert pattern_id(text) in strict.sealed[0]
    with pytest.raises(Sealed):
        keep(strict, "r2", "more")
    with pytest.raises(Sealed):
        strict.export()
    assert files_in(tmp_path) | {"knowledge.lock": b""} == before | {"knowledge.lock": b""}
    act(strict, Act.QUARANTINE, pattern_id(text), by="me", why="poison")  # a person takes it out, the rest lives
    strict.export()
    assert [one.pattern for one in opened(tmp_path, forbid=["ignore the rules"]).patterns] == ["fine"]


def test_an_entry_with_a_quote_is_found_and_a_key_forbids_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path, forbid=['say "yes"', "pattern"])
    keep(opened(tmp_path), "r", "fine")
    store.refresh()
    assert store.sealed == ()
    assert keep(store, "r2", "fine, too") == 1
    with pytest.raises(GuardRefused):
        store.guard.check_value([item('always say "yes"')])


DAMAGE = {
    "operations truncated in the middle": ("knowledge.ops.jsonl", lambda data: data[:40] + data[60:]),
    "operations not UTF-8": ("knowledge.ops.jsonl", lambda data: data.replace(b"one", b"\xff\xfe")),
    "operations of another form": ("knowledge.ops.jsonl", lambda data: b'{"op": "sudo"}\n'),
    "knowledge truncated": ("knowledge.json", lambda data: data[: len(data) // 2]),
    "knowledge not UTF-8": ("knowledge.json", lambda data: data.replace(b"one", b"\xff\xfe")),
    "knowledge edited": ("knowledge.json", lambda data: data.replace(b"one", b"two")),
    "knowledge of another form": ("knowledge.json", lambda data: b'{"importance": "high"}'),
    "knowledge empty": ("knowledge.json", lambda data: b""),
}


@pytest.mark.parametrize(("name", "damage"), DAMAGE.values(), ids=list(DAMAGE))
def test_what_is_not_in_order_seals_the_store_and_stays_as_it_is(name: str, damage: Any, tmp_path: Path) -> None:
    store = opened(tmp_path)
    keep(store, "r", "one")
    store.export()
    path = tmp_path / ".akc" / name
    path.write_bytes(damage(path.read_bytes()))
    before = files_in(tmp_path)
    sealed = opened(tmp_path)
    assert sealed.patterns == []
    assert sealed.sealed
    for write in (
        lambda: keep(sealed, "r2", "x"),
        sealed.export,
        lambda: act(sealed, Act.REVOKE, "r", by="m", why="w"),
    ):
        with pytest.raises(Sealed):
            write()
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("name", ["knowledge.ops.jsonl", "knowledge.json", "knowledge.lock"])
@pytest.mark.parametrize("plant", ["symlink", "hardlink", "folder"])
def test_something_planted_in_a_files_place_is_refused(plant: str, name: str, tmp_path: Path) -> None:
    (tmp_path / ".akc").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    place = tmp_path / ".akc" / name
    {"symlink": place.symlink_to, "hardlink": place.hardlink_to, "folder": lambda _: place.mkdir()}[plant](victim)
    with pytest.raises(KnowledgeError):
        store = opened(tmp_path)
        keep(store, "r", "secret")
        store.export()
    assert victim.read_text() == "mine\n"


def test_a_knowledge_file_of_the_reference_is_taken_over(tmp_path: Path) -> None:
    world = made(tmp_path)
    reference = [
        {"pattern": "minutes only", "distilled": "2025-11-30T09:15", "importance": 0.8, "category": "important"},
        {"pattern": "with zone", "distilled": "2025-11-30T09:15+00:00", "importance": 0.2, "source": "session 4"},
        {"pattern": "undated", "distilled": "unknown", "importance": 1},
        {"pattern": "bare"},
        {"pattern": "bare"},
    ]
    world.home.knowledge.write_text(json.dumps(reference))
    assert "adopt" in world.cycle.store().sealed[0]
    done = akc(tmp_path, "knowledge", "adopt")
    assert done.returncode == 0, done.stderr
    store = world.cycle.store()
    assert store.sealed == ()
    assert [(one.pattern, one.distilled, one.importance, one.category) for one in store.patterns] == [
        ("minutes only", "2025-11-30T09:15:00+00:00", 0.8, "important"),
        ("with zone", "2025-11-30T09:15:00+00:00", 0.2, "uncategorized"),
        ("undated", "unknown", 1.0, "uncategorized"),
        ("bare", "unknown", 0.5, "uncategorized"),
    ]
    guard = Guard(name="published", schema=KNOWLEDGE_SCHEMA)
    assert isinstance(guard.examine(world.home.knowledge.read_bytes()), Checked)
    assert akc(tmp_path, "rebuild").returncode == 0


def test_weights_halve_in_two_weeks_and_have_no_odd_edges() -> None:
    def of(distilled: str, importance: float = 1.0) -> float:
        return weigh(Pattern(id="x", pattern="x", distilled=distilled, importance=importance), NOON).weight

    day = timedelta(days=1)
    assert [round(of(seconds_stamp(NOON - day * days)), 4) for days in (0, 7, 30, 90)] == [1.0, 0.6983, 0.2146, 0.0099]
    assert of("unknown") == of("yesterday") == of("") == 0.1
    assert of("unknown", 50) == 1.0
    assert of("unknown", -5) == of("2025-12-01T12:00:00", -5) == 0.0
    assert of("2025-12-01T12:00:00", float("nan")) == 0.0
    ahead = weigh(Pattern(id="x", pattern="x", distilled="2027-01-01T00:00:00+00:00", importance=0.5), NOON)
    assert (ahead.weight, ahead.ahead) == (0.5, True)


def test_ranking_is_stable_and_counts_from_none_up() -> None:
    patterns = [Pattern(id=name, pattern=name, importance=0.5) for name in "cab"]
    assert (
        [one.pattern.id for one in ranked(patterns, NOON)]
        == ["c", "b", "a"]
        == [one.pattern.id for one in ranked(reversed(patterns), NOON)]
    )
    assert top(ranked(patterns, NOON), 0) == []
    with pytest.raises(UsageError):
        top(ranked(patterns, NOON), -1)


ADDER = """
import sys
from pathlib import Path
from tests.knowledge.test_store import opened, keep
store = opened(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    keep(store, f"{sys.argv[2]}-{number}", f"pattern {number} of process {sys.argv[2]}")
store.export()
"""


def test_eight_processes_lose_none_of_four_thousand_patterns(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    (tmp_path / ".akc").mkdir()
    processes = [
        subprocess.Popen([sys.executable, "-c", ADDER, str(tmp_path), str(who), "500"], cwd=root) for who in range(8)
    ]
    assert [process.wait() for process in processes] == [0] * 8
    store = opened(tmp_path)
    assert store.sealed == ()
    assert len(store.patterns) == 4000
    assert len(json.loads((tmp_path / ".akc/knowledge.json").read_text())) == 4000
    assert not [name for name in (tmp_path / ".akc").iterdir() if name.name.startswith(".")]


def test_nothing_but_utc_seconds_is_written_whatever_the_local_time(tmp_path: Path) -> None:
    from datetime import timezone

    assert seconds_stamp(datetime(2025, 12, 1, 5, tzinfo=timezone(timedelta(hours=5)))) == "2025-12-01T00:00:00+00:00"
    assert seconds_stamp(datetime(2025, 12, 1, 0, tzinfo=UTC)) == "2025-12-01T00:00:00+00:00"
