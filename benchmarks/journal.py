"""What the journal costs: each step beside an fsynced line write, resuming a long run, growth, and evidence.

Everything is measured in this process, the two sides of a ratio in turns. The journals lie in a folder on the disk of
the working directory, not in a memory file system, so that an fsync is one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import readme
from measuring import HERE, SHARED

sys.path[:0] = [str(SHARED), str(HERE / "adapters"), str(HERE.parent / "src")]

from common import mk_loop  # noqa: E402 - found through the path set above
from mklang_sys import FakeOracle, new_journal  # noqa: E402

from mklang.durable.journal import JournalFile, open_journal  # noqa: E402
from mklang.engine.blackboard import Blackboard  # noqa: E402
from mklang.engine.options import RunOptions  # noqa: E402
from mklang.engine.oracle import Oracle  # noqa: E402
from mklang.engine.requests import Answer, Request  # noqa: E402
from mklang.engine.run import arun  # noqa: E402
from mklang.engine.taint import Mark  # noqa: E402
from mklang.lang.models import Machine  # noqa: E402
from mklang.lang.reader import machine_from_mapping  # noqa: E402
from mklang.oracles.journaled import JournaledOracle  # noqa: E402

MEGABYTE = 1_000_000
STEPS = 100


@dataclass(frozen=True)
class Row:
    """One line of the table; ``limit`` None where nothing was promised."""

    name: str
    limit: float | None
    median: float
    least: float
    unit: str
    note: str = ""

    def line(self, *, loaded: bool) -> str:
        decides = self.least if loaded else self.median
        mark = "" if self.limit is None else "met" if decides <= self.limit else "**missed**"
        limit = "" if self.limit is None else f"{self.limit:g} {self.unit}"
        return f"| {self.name} | {limit} | {self.median:,.2f} {self.unit} | {self.least:,.2f} | {mark} | {self.note} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="how often each figure is taken (9)")
    parser.add_argument("--loaded", action="store_true", help="judge by minima: other jobs are running")
    parser.add_argument("--readme", action="store_true", help="also put the table into benchmarks/README.md")
    options = parser.parse_args()
    by = "minimum" if options.loaded else "median"
    load = f"load average {os.getloadavg()[0]:.1f}"
    lines = [f"{readme.version()}, {load}, {options.rounds} rounds; the mark goes by the {by}.", ""]
    lines += ["| figure | at most | median | minimum | | |", "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory(prefix="mklang_journal_", dir=Path.cwd()) as name:
        for measured in (step_cost, resume_time, growth, evidence_time):
            for row in measured(Path(name), options.rounds):
                lines.append(row.line(loaded=options.loaded))
                print(lines[-1], flush=True)
    if options.readme:
        readme.put(Path(__file__).name, lines)
    return 0


def step_cost(folder: Path, rounds: int) -> list[Row]:
    """A durable step against writing one line of the same length with an fsync; a judged step has two answers."""
    return [*_step_cost(folder, rounds, gates=0, answers=1), *_step_cost(folder, rounds, gates=3, answers=2)]


def _step_cost(folder: Path, rounds: int, *, gates: int, answers: int) -> list[Row]:
    machine = machine_from_mapping(mk_loop(STEPS, gates))
    line = b"x" * _line_length(folder, machine) + b"\n"
    durable, bare, written = [], [], []
    for _ in range(rounds):
        written.append(_timed(lambda: _write_lines(folder / "lines", line, STEPS)))
        durable.append(_timed(lambda: _run_durably(folder, machine)))
        bare.append(_timed(lambda: asyncio.run(arun(machine, oracle=FakeOracle()))))
    journal = [(whole - kernel) / answers for whole, kernel in zip(durable, bare, strict=True)]
    what = "judged step, each of its two answers" if answers > 1 else "step"
    return [
        _ratio(f"{what}: journal alone / fsynced line", journal, written),
        _ratio(f"{what}: kernel and journal / fsynced line", [whole / answers for whole in durable], written),
    ]


def _ratio(name: str, costs: list[float], floors: list[float]) -> Row:
    """The median of the rounds' own ratios, and the ratio of the best of each side."""
    ratios = [cost / floor for cost, floor in zip(costs, floors, strict=True)]
    note = f"{_median_us(costs)} us beside {_median_us(floors)} us"
    return Row(name, 2.0, statistics.median(ratios), min(costs) / min(floors), "x", note)


def resume_time(folder: Path, rounds: int) -> list[Row]:
    """From opening a journal of 10,000 steps to the first request that nobody has answered."""
    rows = []
    for gates, what in ((0, "steps"), (3, "judged steps")):
        machine = machine_from_mapping(mk_loop(10_000, gates))
        path = _run_durably(folder, machine, sync=False)
        seconds = [asyncio.run(_until_first_new_request(path, machine)) for _ in range(min(rounds, 5))]
        size = f"journal of {path.stat().st_size / MEGABYTE:.1f} MB"
        rows.append(Row(f"resume of 10,000 {what}", 2.0, statistics.median(seconds), min(seconds), "s", size))
    return rows


def growth(folder: Path, rounds: int) -> list[Row]:
    """How many bytes one step adds, with and without a text of 1 MB in the context."""
    per_step = []
    for size in (0, MEGABYTE):
        machine = machine_from_mapping(mk_loop(100, 3))
        path = _run_durably(folder, machine, {"big": "x" * size}, sync=False)
        data = path.read_bytes()
        per_step.append((len(data) - data.index(b"\n")) / 100)
    note = f"{per_step[0]:.0f} bytes a judged step without it; the value itself stands once, in the first line"
    ratio = per_step[1] / per_step[0]
    return [Row("growth a step: 1 MB in the context / none", 1.01, ratio, ratio, "x", note)]


def evidence_time(folder: Path, rounds: int) -> list[Row]:
    """Evidence for a judge with 1 MB on the blackboard: at first sight, and after another key has changed."""
    rows = []
    texts = ["x" * 1000 for _ in range(1000)]
    records = [{"name": f"item {n}", "price": n * 1.5, "tags": ["a", "b"], "ok": True} for n in range(15_000)]
    values = {"a text of 1 MB": "x" * MEGABYTE, "a list of 1,000 x 1 KB": texts, "15,000 records of 70 bytes": records}
    for what, value in values.items():
        first, later, grown = [], [], []
        for _ in range(rounds):
            board = Blackboard({})
            board.place(("big",), list(value) if isinstance(value, list) else value, Mark.HOST_INPUT)
            board.deposit("out", "ok", Mark.NONE)
            first.append(_timed(board.evidence))
            board.deposit("out", "better", Mark.NONE)
            later.append(_timed(board.evidence))
            board.deposit("big", "more", Mark.NONE, accumulate=isinstance(value, list))
            grown.append(_timed(board.evidence))
        rows.append(_evidence_row(f"evidence, {what} in the context", later, 200.0))
        rows.append(_evidence_row(f"evidence, {what}, first sight", first, 200.0))
        if isinstance(value, list):
            rows.append(_evidence_row(f"evidence, {what}, one appended", grown, None))
    return rows


def _evidence_row(name: str, seconds: list[float], limit: float | None) -> Row:
    return Row(name, limit, statistics.median(seconds) * 1e6, min(seconds) * 1e6, "us")


def _run_durably(folder: Path, machine: Machine, inputs: dict | None = None, *, sync: bool = True) -> Path:
    """Run to the end of the budget with a new journal; gives the journal's path."""
    path = folder / "run.jsonl"
    path.unlink(missing_ok=True)
    journal = new_journal(path, machine, inputs or {}, sync=sync)
    asyncio.run(arun(machine, inputs, oracle=_journaled(FakeOracle(), journal)))
    journal.close()
    return path


def _journaled(inner: Oracle, journal: JournalFile) -> JournaledOracle:
    return JournaledOracle(inner, journal, clock=lambda: 0.0)


class _First(Exception):
    """The first request that the journal does not answer."""


class _Live:
    async def answer(self, request: Request, /) -> Answer:
        raise _First(request.key)


async def _until_first_new_request(path: Path, machine: Machine) -> float:
    start = time.perf_counter()
    journal = open_journal(path)
    try:
        await arun(machine, oracle=_journaled(_Live(), journal), options=RunOptions(max_steps=machine.budget + 1))
    except _First:
        return time.perf_counter() - start
    finally:
        journal.close()
    raise AssertionError("the journal answered everything")


def _write_lines(path: Path, line: bytes, count: int) -> None:
    with path.open("wb") as stream:
        for _ in range(count):
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())


def _line_length(folder: Path, machine: Machine) -> int:
    """How long a journal's line is on average, the first excepted."""
    lines = _run_durably(folder, machine, sync=False).read_bytes().splitlines()[1:]
    return sum(map(len, lines)) // len(lines)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _median_us(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) / STEPS * 1e6:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
