"""Runs that are killed at a chosen journal write and taken up again until they end: for the tests and make stress."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.durable.journal import Begin, JournalFile, create_journal, open_journal, read_journal
from mklang.durable.service import answer_question, conclude, describe, settle_outcome
from mklang.engine.options import RunOptions
from mklang.engine.outcome import Outcome, to_wire
from mklang.engine.requests import (
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    NotYet,
    Observation,
    Produce,
    Produced,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.engine.run import arun
from mklang.lang.models import Machine
from mklang.oracles.journaled import JournaledOracle
from mklang.oracles.replayed import ReplayedOracle


class LedgerWorld:
    """Answers that depend only on the question; every effect leaves one line in a file that outlives the process."""

    def __init__(self, ledger: Path, verdicts: Mapping[str, int | None]) -> None:
        self._ledger = ledger
        self._verdicts = verdicts

    async def answer(self, request: Request, /) -> Answer:
        match request:
            case Produce():
                await asyncio.sleep(0)
                return Produced(text=f"text of {request.key}", usage=Usage(len(request.user), 7), model="m")
            case Judge():
                return Verdict(index=self._verdicts.get(request.key), usage=Usage(11, 1), model="j")
            case Tool():
                with self._ledger.open("a") as ledger:
                    ledger.write(f"{request.idempotency_key}\n")
                return Observation(text=f"receipt {request.idempotency_key}")
            case Hook():
                return HookValue(True)
            case Ask():
                return NotYet(question="")
            case Nonce():
                return NonceValue("a-seed")


@dataclass(frozen=True)
class Story:
    """A machine with everything it needs, and the answers people give in it."""

    machine: Machine
    library: Mapping[str, Machine]
    verdicts: Mapping[str, int | None]
    replies: Mapping[str, str]


@dataclass(frozen=True)
class Telling:
    """How a story ended: everything that must not depend on where the process died."""

    result: object
    ledger: tuple[str, ...]
    deaths: int
    questions: int


def tell(story: Story, folder: Path, *, kill_at: int | None = None, after: bool = False) -> Telling:
    """Run the story to its end; with ``kill_at`` the process is killed before or after that journal write, once."""
    path, ledger = folder / "run.jsonl", folder / "ledger"
    ledger.touch()
    deaths = questions = 0
    for attempt in range(60):
        child = os.fork()
        if child == 0:
            _live(story, path, ledger, kill_at=kill_at if attempt == 0 else None, after=after)
        _, status = os.waitpid(child, 0)
        deaths += os.WIFSIGNALED(status)
        if path.exists():
            journal = read_journal(path)
            if journal.end is not None and journal.end.status == "done":
                break
            questions += _answer(story, path, ledger)
    else:
        raise AssertionError("the story does not end")
    outcome = asyncio.run(
        arun(
            story.machine,
            oracle=ReplayedOracle(read_journal(path)),
            library=story.library,
            options=RunOptions(humans=True),
        )
    )
    return Telling(to_wire(outcome), tuple(ledger.read_text().split()), deaths, questions)


def _live(story: Story, path: Path, ledger: Path, *, kill_at: int | None, after: bool) -> None:
    """One process's life: run until done, until somebody must answer, or until killed. Never returns."""
    options = RunOptions(humans=True)
    if kill_at is not None:
        _die_at_write(kill_at, after=after)
    if path.exists() and path.stat().st_size:
        journal = open_journal(path)
    else:
        path.unlink(missing_ok=True)
        machines = describe(story.machine, story.library)
        begin = Begin(format=1, run="run", created=0.0, mklang="0", machines=machines, inputs={}, options=options)
        journal = create_journal(path, begin)
    oracle = JournaledOracle(LedgerWorld(ledger, story.verdicts), journal, clock=lambda: 0.0)
    outcome: Outcome = asyncio.run(arun(story.machine, oracle=oracle, library=story.library, options=options))
    conclude(journal, outcome, at=0.0)
    journal.close()
    os._exit(0)


def _die_at_write(number: int, *, after: bool) -> None:
    """Make this process kill itself at its n-th write of the journal."""
    real, writes = JournalFile._flush, 0

    def flush(journal: JournalFile) -> None:
        nonlocal writes
        waiting = bool(journal._buffer)
        writes += waiting
        if waiting and writes == number:
            if after:
                real(journal)
            os.kill(os.getpid(), signal.SIGKILL)
        real(journal)

    JournalFile._flush = flush  # type: ignore[method-assign]


def _answer(story: Story, path: Path, ledger: Path) -> int:
    """Be the person: answer what is asked, and look in the ledger to say what became of an unknown call."""
    journal = open_journal(path)
    asked = 0
    for intent in journal.unknown_outcomes:
        key = _idempotency_key(story, journal, intent.key)
        done = key in ledger.read_text().split()
        settle_outcome(journal, "happened" if done else "again", key=intent.key, observation=f"receipt {key}")
        asked += 1
    for question in list(journal.questions):
        answer_question(journal, {question.reply_to: story.replies[question.key]}, key=question.key)
        asked += 1
    journal.close()
    return asked


class _Peek:
    """Replays as far as the journal goes and remembers the calls it could not answer."""

    def __init__(self, journal: JournalFile) -> None:
        self._replayed = ReplayedOracle(journal)
        self._journal = journal
        self.calls: dict[str, str] = {}

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Tool):
            self.calls[request.key] = request.idempotency_key
        return await self._replayed.answer(request)


def _idempotency_key(story: Story, journal: JournalFile, key: str) -> str:
    peek = _Peek(journal)
    asyncio.run(arun(story.machine, oracle=peek, library=story.library, options=RunOptions(humans=True)))
    return peek.calls[key]
