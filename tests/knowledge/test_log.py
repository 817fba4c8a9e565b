"""Layer 1: what is acknowledged is there, what is wrong is said with its place, nothing is written elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mklang.errors import KnowledgeError, UsageError
from mklang.guards import Checked, Guard
from mklang.knowledge.log import EpisodeLog, Sync
from mklang.knowledge.reading import Cursor, Defect, Located, read_log
from mklang.knowledge.record import Origin
from mklang.knowledge.schemas import RECORD_SCHEMA
from mklang.knowledge.verifying import seal_days, verify_log
from tests.knowledge.world import NOON, Ticking

pytestmark = pytest.mark.rule("S49")
DAY = "2025-12-01.jsonl"


def logged(folder: Path, *texts: str, clock: Ticking | None = None) -> EpisodeLog:
    log = EpisodeLog(folder, clock or Ticking())
    for text in texts:
        log.append("observation", {"text": text}, Origin.OBSERVED)
    return log


def texts_in(folder: Path) -> list[str]:
    return [found.record.data.get("text") for found in read_log(folder) if isinstance(found, Located)]


def test_a_record_is_one_line_that_the_published_schema_admits(tmp_path: Path) -> None:
    with logged(tmp_path / "logs", "one\ntwo", "Überraschung") as log:
        log.append("insight", {"n": 10**25, "f": 1.5}, Origin.HUMAN, session="s")
    lines = (tmp_path / "logs" / DAY).read_bytes().splitlines()
    guard = Guard(name="record", schema=RECORD_SCHEMA)
    assert [isinstance(guard.examine(line), Checked) for line in lines] == [True, True, True]
    assert json.loads(lines[2])["data"]["n"] == 10**25


@pytest.mark.parametrize("kind", ["Session", "../../x", "", "session\n", "a" * 65, "1a", None, 7])
def test_a_type_that_is_none_is_refused(kind: object, tmp_path: Path) -> None:
    with logged(tmp_path) as log, pytest.raises(UsageError, match="type"):
        log.append(kind, {}, Origin.OBSERVED)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "data",
    [
        "text",
        None,
        [1],
        {"x": float("nan")},
        {"x": b"bytes"},
        {"x": {1, 2}},
        {"x": "\ud800"},
        {1: "x"},
        {"_akc": {}},
        {"x": float("inf")},
    ],
)
def test_data_that_are_no_json_object_are_refused_and_nothing_is_written(data: object, tmp_path: Path) -> None:
    with logged(tmp_path) as log, pytest.raises(UsageError):
        log.append("observation", data, Origin.OBSERVED)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_what_a_model_wrote_has_a_door_of_its_own(tmp_path: Path) -> None:
    with logged(tmp_path) as log:
        with pytest.raises(UsageError, match="append_generated"):
            log.append("insight", {}, Origin.GENERATED)
        log.append_generated("insight", {"text": "x"})
    (found,) = (one for one in read_log(tmp_path) if isinstance(one, Located))
    assert found.record.origin is Origin.GENERATED


def test_the_file_is_that_of_the_day_of_the_record_itself(tmp_path: Path) -> None:
    clock = Ticking(datetime(2025, 12, 1, 23, 59, 58, 999_999, tzinfo=UTC))
    logged(tmp_path, "before", "after", clock=clock).close()
    for path in sorted(tmp_path.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            assert json.loads(line)["ts"].startswith(path.name[:10])
    assert [path.name for path in sorted(tmp_path.iterdir())] == [DAY, "2025-12-02.jsonl"]
    assert texts_in(tmp_path) == ["before", "after"]


def test_a_clock_that_goes_back_is_written_as_it_is_and_said(tmp_path: Path) -> None:
    clock = Ticking()
    log = logged(tmp_path, "a", clock=clock)
    clock.now -= timedelta(minutes=5)
    log.append("observation", {"text": "b"}, Origin.OBSERVED)
    log.close()
    found = verify_log(tmp_path)
    assert found.problems == ()
    assert "the clock went back" in found.odd[0]


def test_a_torn_line_is_closed_and_the_next_record_is_whole(tmp_path: Path) -> None:
    logged(tmp_path, "one").close()
    with (tmp_path / DAY).open("ab") as file:
        file.write(b'{"ts":"2025-12-01T12:')
    assert [found.torn for found in read_log(tmp_path) if isinstance(found, Defect)] == [True]
    logged(tmp_path, "two").close()
    found = list(read_log(tmp_path))
    (defect,) = (one for one in found if isinstance(one, Defect))
    assert (defect.line, defect.torn) == (2, False)
    assert [one.record.type for one in found if isinstance(one, Located)] == [
        "observation",
        "log_repair",
        "observation",
    ]


def test_every_line_that_is_no_record_is_told_with_its_place(tmp_path: Path) -> None:
    logged(tmp_path, "one").close()
    bad = [
        b"no json",
        b"[1]",
        b'{"ts":"x","type":"a","data":{}}',
        b'{"ts":"2025-12-01T00:00:00Z","type":"A","data":{}}',
    ]
    bad += [b'{"ts":"2025-12-01T00:00:00Z","type":"a"}', b"\xff\xfe", b"[" * 100_000]
    with (tmp_path / DAY).open("ab") as file:
        file.write(b"\n".join([*bad, b"", b'{"ts":"2025-12-01T00:00Z","type":"a","data":{"text":"two"}}', b""]))
    found = list(read_log(tmp_path))
    assert [one.line for one in found if isinstance(one, Defect)] == list(range(2, 2 + len(bad)))
    assert texts_in(tmp_path) == ["one", "two"]


def test_reading_goes_on_behind_a_cursor(tmp_path: Path) -> None:
    clock = Ticking()
    log = logged(tmp_path, "a", "b", clock=clock)
    last = max(found.after for found in read_log(tmp_path) if isinstance(found, Located))
    log.append("observation", {"text": "c"}, Origin.OBSERVED)
    clock.now += timedelta(days=1)
    log.append("observation", {"text": "d"}, Origin.OBSERVED)
    log.close()
    for numbered in (True, False):
        found = read_log(tmp_path, start=last, numbered=numbered)
        assert [one.record.data["text"] for one in found if isinstance(one, Located)] == ["c", "d"]
    assert list(read_log(tmp_path, start=Cursor("2027-01-01", 0))) == []


@pytest.mark.parametrize("plant", ["symlink", "hardlink", "folder", "fifo"])
def test_something_in_the_files_place_is_refused_and_its_victim_unchanged(plant: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    logs = tmp_path / "logs"
    logs.mkdir()
    if plant == "symlink":
        (logs / DAY).symlink_to(victim)
    elif plant == "hardlink":
        (logs / DAY).hardlink_to(victim)
    elif plant == "folder":
        (logs / DAY).mkdir()
    else:
        os.mkfifo(logs / DAY)
    with pytest.raises(KnowledgeError):
        logged(logs, "secret")
    assert victim.read_text() == "mine\n"
    if plant != "folder":
        with pytest.raises(KnowledgeError):
            list(read_log(logs))


def test_a_linked_log_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "logs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KnowledgeError):
        logged(tmp_path / "logs", "secret")
    assert not list((tmp_path / "elsewhere").iterdir())


FULL = """
import resource, signal, sys
from pathlib import Path
from mklang.errors import KnowledgeError
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.record import Origin
from tests.knowledge.test_log import DAY, logged
from tests.knowledge.test_store import keep, opened
folder = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = logged(folder, "one")
store = opened(folder)
keep(store, "r1", "one")
for path, write in (
    (folder / DAY, lambda: log.append("observation", {"text": "two" * 50}, Origin.OBSERVED)),
    (folder / ".akc/knowledge.ops.jsonl", lambda: keep(store, "r2", "two")),
):
    before = path.read_bytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 30, -1))  # a part of the line still fits
    try:
        write()
    except KnowledgeError as error:
        print("refused", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    assert path.read_bytes() == before, path
log.append("observation", {"text": "three"}, Origin.OBSERVED)
assert keep(store, "r2", "two") == 1
"""


def test_what_does_not_fit_raises_and_leaves_nothing_half(tmp_path: Path) -> None:
    (tmp_path / ".akc").mkdir()
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused") == 2
    assert texts_in(tmp_path) == ["one", "three"]


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_modes_are_exact_and_the_umask_stays(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        stop = threading.Event()
        foreign: list[int] = []

        def others() -> None:
            number = 0
            while not stop.is_set():
                path = tmp_path / f"foreign-{number}"
                path.touch(0o666)
                foreign.append(path.stat().st_mode & 0o777)
                number += 1

        thread = threading.Thread(target=others)
        thread.start()
        workers = [threading.Thread(target=lambda n=n: logged(tmp_path / "a/logs", f"{n}").close()) for n in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        stop.set()
        thread.join()
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert set(foreign) == {0o666 & ~mask}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a/logs")} == {0o700}
    assert (tmp_path / "a/logs" / DAY).stat().st_mode & 0o777 == 0o600
    assert len(texts_in(tmp_path / "a/logs")) == 8


def test_a_file_that_was_open_to_all_is_the_owners_alone_afterwards(tmp_path: Path) -> None:
    (tmp_path / DAY).touch(0o666)
    (tmp_path / DAY).chmod(0o666)
    logged(tmp_path, "one").close()
    assert (tmp_path / DAY).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_a_folder_that_cannot_be_written_or_read_is_an_error_for_another_user(tmp_path: Path) -> None:
    logged(tmp_path / "logs", "one").close()
    script = f"""
import os, sys
from pathlib import Path
from mklang.errors import KnowledgeError
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.reading import read_log
from mklang.knowledge.record import Origin
from datetime import datetime, UTC
os.setuid(65534)
folder = Path({str(tmp_path / "logs")!r})
for act in (lambda: EpisodeLog(folder, lambda: datetime.now(UTC)).append("a", {{}}, Origin.HUMAN),
            lambda: list(read_log(folder))):
    try:
        act()
    except KnowledgeError as error:
        print("refused", error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.count("refused") == 2, done.stdout + done.stderr


WRITER = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from mklang.knowledge.log import EpisodeLog, Sync
from mklang.knowledge.record import Origin
log = EpisodeLog(Path(sys.argv[1]), lambda: datetime.now(UTC), sync=Sync.OFF)
for number in range(int(sys.argv[3])):
    log.append("observation", {"who": sys.argv[2], "n": number, "pad": "x" * (number * 37 % 3000)}, Origin.OBSERVED)
    print(number, flush=True)
"""


def test_eight_processes_that_are_killed_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    count, processes = 2000, []
    for who in range(8):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "logs"), str(who), str(count)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    acknowledged: dict[str, int] = {}
    for who, process in enumerate(processes):
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged[str(who)] = int(line)
            if who % 2 and int(line) == 100 + who * 150:
                process.send_signal(signal.SIGKILL)
        process.stdout.close()
        process.wait()
    seen: dict[str, set[int]] = {str(who): set() for who in range(8)}
    defects = 0
    for found in read_log(tmp_path / "logs"):
        if isinstance(found, Defect):
            defects += 1
        elif found.record.type == "observation":
            assert found.record.data["n"] not in seen[found.record.data["who"]]
            seen[found.record.data["who"]].add(found.record.data["n"])
    assert defects <= 4
    for who, last in acknowledged.items():
        assert seen[who] >= set(range(last + 1)), who
        assert last == count - 1 or int(who) % 2


def test_a_day_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    clock = Ticking()
    log = logged(tmp_path / "logs", "one", clock=clock)
    (tmp_path / "logs" / DAY).rename(tmp_path / "kept.jsonl")
    clock.now += timedelta(seconds=2)
    log.append("observation", {"text": "two"}, Origin.OBSERVED)
    log.close()
    assert texts_in(tmp_path / "logs") == ["two"]


def test_a_sealed_day_shows_every_later_change(tmp_path: Path) -> None:
    logged(tmp_path, "one", "two").close()
    assert [seal.records for seal in seal_days(tmp_path, "2025-12-02")] == [2]
    assert seal_days(tmp_path, "2025-12-02") == []
    assert verify_log(tmp_path).problems == ()
    data = (tmp_path / DAY).read_bytes()
    (tmp_path / DAY).write_bytes(data.replace(b"one", b"eno"))
    assert "changed or taken out" in verify_log(tmp_path).problems[0]
    (tmp_path / DAY).write_bytes(data)
    logged(tmp_path, "three").close()
    assert "appended after" in verify_log(tmp_path).problems[0]
    (tmp_path / DAY).write_bytes(data.splitlines(keepends=True)[0])
    assert "changed or taken out" in verify_log(tmp_path).problems[0]


def test_the_policy_says_when_a_record_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("mklang.knowledge.log.os.fdatasync", synced.append)
    for policy, expected in ((Sync.ALWAYS, 3), (Sync.INTERVAL, 1), (Sync.OFF, 0)):
        synced.clear()
        log = EpisodeLog(tmp_path / policy.value, lambda: NOON, sync=policy)
        for _ in range(3):
            log.append("observation", {}, Origin.OBSERVED)
        assert len(synced) == expected
        log.close()
