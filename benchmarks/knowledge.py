"""What the knowledge cycle costs: appends beside a bare write, reading a large log, and the memory of a distillation.

Ratios are measured in turns in this process, the large log in processes of their own. Everything lies in a folder on
the disk of the working directory, so that an fsync is one.

    .venv/bin/python benchmarks/knowledge.py            about three minutes; --gigabytes 0.2 for a quick look
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import readme

from mklang.knowledge.distil import Choice, choose
from mklang.knowledge.home import Home
from mklang.knowledge.log import EpisodeLog, Sync
from mklang.knowledge.reading import read_log
from mklang.knowledge.record import Origin, record_line
from mklang.knowledge.store import KnowledgeStore
from mklang.knowledge.verifying import verify_log

DATA = {"text": "the quick brown fox jumps over the lazy dog", "n": 1}
MARKED = {**DATA, "_akc": {"origin": "observed"}}
LINE = record_line("2026-12-01T00:00:00.000000+00:00", "observation", MARKED)


def now() -> datetime:
    return datetime.now(UTC)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="the size of the large log (1.0)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--readme", action="store_true", help="also put the figures into benchmarks/README.md")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    say(
        f"{readme.version()}, Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}.",
        "",
    )
    with tempfile.TemporaryDirectory(prefix="akc-bench-", dir=Path.cwd()) as name:
        folder = Path(name)
        appends(folder, options.rounds)
        synced(folder, options.rounds)
        large(folder, options.gigabytes)
    if options.readme:
        readme.put(Path(__file__).name, REPORT)
    return 0


REPORT: list[str] = []


def say(*lines: str) -> None:
    """Print lines and keep them for the page."""
    for line in lines:
        print(line, flush=True)
        REPORT.append(line)


def rate(count: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    begin = clock()
    for _ in range(count):
        work()
    return count / (clock() - begin)


def appends(folder: Path, rounds: int) -> None:
    """Without a sync: ours beside lock, look, write and unlock alone, which nobody can do without."""
    log = EpisodeLog(folder / "fast", now, sync=Sync.OFF)
    handle = os.open(folder / "bare", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def bare() -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        size = os.fstat(handle).st_size
        if size:
            os.pread(handle, 1, size - 1)
        os.write(handle, LINE)
        fcntl.flock(handle, fcntl.LOCK_UN)

    ours, floor, batched, alone = [], [], [], []
    for _ in range(rounds):
        ours.append(rate(20_000, lambda: log.append("observation", DATA, Origin.OBSERVED)))
        floor.append(rate(20_000, bare))
        alone.append(rate(20_000, lambda: log.append("observation", DATA, Origin.OBSERVED), time.process_time))
        records = [("observation", DATA, {"origin": "observed"})] * 500
        batched.append(500 * rate(40, lambda: log.append_all(records)))  # noqa: B023 - used at once
    log.close()
    os.close(handle)
    ratio = statistics.median(a / b for a, b in zip(ours, floor, strict=True))
    say(f"- append, no sync: median {statistics.median(ours):,.0f}/s, best {max(ours):,.0f}/s (target 50,000/s)")
    say(f"  - by CPU time, as on a machine of its own: median {statistics.median(alone):,.0f}/s")
    say(f"  - lock, look, write, unlock alone: median {statistics.median(floor):,.0f}/s; ours is {ratio:.2f} of it")
    say(f"  - 500 at a time: median {statistics.median(batched):,.0f}/s")


def synced(folder: Path, rounds: int) -> None:
    """Each append on disk: ours beside a bare write and sync of the same line."""
    log = EpisodeLog(folder / "safe", now, sync=Sync.ALWAYS)
    handle = os.open(folder / "bare-synced", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def bare() -> None:
        os.write(handle, LINE)
        os.fdatasync(handle)

    ours, floor = [], []
    for _ in range(rounds):
        ours.append(1e6 / rate(100, lambda: log.append("observation", DATA, Origin.OBSERVED)))
        floor.append(1e6 / rate(100, bare))
    log.close()
    os.close(handle)
    ratio = statistics.median(a / b for a, b in zip(ours, floor, strict=True))
    say(
        f"- append, synced: {statistics.median(ours):,.0f} us, a bare synced write {statistics.median(floor):,.0f} us; "
    )
    say(f"  - ratio, median of rounds: {ratio:.2f} (target at most 1.5)")


def large(folder: Path, gigabytes: float) -> None:
    """A log of many days, the last one a tenth of it: the last day is chosen from, and the whole is verified."""
    home = folder / ".akc"
    (home / "logs").mkdir(parents=True)
    first = datetime(2026, 11, 1, tzinfo=UTC)
    size = int(gigabytes * 1e9)
    for number in range(10):
        day = (first + timedelta(days=number)).date().isoformat()
        data = {"text": "observed " + "x" * 400, "_akc": {"origin": "observed", "session": "s"}}
        part = b"".join(
            json.dumps({"ts": f"{day}T10:00:00.{count:06d}+00:00", "type": "observation", "data": data}).encode()
            + b"\n"
            for count in range(1000)
        )
        with (home / "logs" / f"{day}.jsonl").open("wb") as file:
            for _ in range(size // 10 // len(part)):
                file.write(part)
    total = sum(path.stat().st_size for path in (home / "logs").iterdir())
    say(f"- a log of {total / 1e9:.2f} GB in 10 days:")
    for task in ("choose", "nothing", "read", "verify"):
        command = [sys.executable, __file__, "--child", task, str(home)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        say(f"  - {done.stdout.strip()}")


def child(task: str, path: str) -> int:
    home = Home(Path(path))
    begin = time.perf_counter()
    said = ""
    if task in {"choose", "nothing"}:
        choice = Choice(days=1, types=frozenset({"never"} if task == "nothing" else ()))
        found = choose(home, choice, KnowledgeStore(home, now), today="2026-11-10").selection.manifest
        said = f"last day, {found.came:,} records: {found.kept} chosen, {found.cut:,} cut"
    elif task == "read":
        said = f"all read: {sum(1 for _ in read_log(home.logs)):,} records"
    else:
        said = f"all verified: {verify_log(home.logs).records:,} records"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{said}; {time.perf_counter() - begin:.1f} s, {peak:.0f} MB at most (target for the last day: 150 MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
