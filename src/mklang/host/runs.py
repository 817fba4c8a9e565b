"""Runs that are kept: a session with a journal under it, begun anew or taken up again. Prints nothing.

``begin`` and ``take_up`` do everything that can fail before a request is made; ``KeptRun.run`` makes the requests and
writes how it ended, also when it is interrupted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from mklang import __version__
from mklang.durable.journal import FORMAT, Begin, End, JournalFile, create_journal, open_journal
from mklang.durable.journal import Session as SessionLine
from mklang.durable.service import (
    check_open,
    conclude,
    current_options,
    describe,
    differences,
    tightened,
)
from mklang.durable.service import take_up as note_session
from mklang.engine.events import AnyEvent, Observer, RunStart
from mklang.engine.options import RunOptions
from mklang.engine.outcome import Outcome
from mklang.engine.requests import Answer, Request
from mklang.engine.run import arun
from mklang.errors import RunStoreError, UsageError
from mklang.host.guards import carried_on
from mklang.host.seam import REAL, Seam
from mklang.host.session import Session, check_prices
from mklang.lang.models import Machine, Tier
from mklang.lang.reader import machine_from_text
from mklang.lang.values import Json
from mklang.oracles.journaled import JournaledOracle
from mklang.oracles.recording import Answered, Failed, Intent, Journal
from mklang.oracles.replayed import ReplayedOracle


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How a run is kept. ``path`` None keeps it under its name in ``folder``; ``ask_seconds`` None never expires."""

    folder: Path
    path: Path | None = None
    answered_by: Mapping[str, str] = field(default_factory=dict)
    ask_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """A session whose answers are written down."""

    session: Session
    journal: JournalFile
    seam: Seam

    @property
    def name(self) -> str:
        """The run's name."""
        return self.journal.begin.run

    def _told(self, observer: Observer | None) -> Observer | None:
        taken_up = any(isinstance(line, SessionLine) for line in self.journal.lines)
        return _says_resumed(observer) if observer is not None and taken_up else observer

    async def run(self, observer: Observer | None = None) -> Outcome:
        """Run to an outcome and write how it ended. Being interrupted is written down too, and goes on."""
        try:
            outcome = await self.session.run(self._told(observer))
            conclude(self.journal, outcome, at=self.seam.now().timestamp())
        except asyncio.CancelledError:
            self.journal.write(End(at=self.seam.now().timestamp(), status="interrupted"))
            raise
        finally:
            self.journal.close()
        return outcome


def _says_resumed(observer: Observer) -> Observer:
    """An observer that is told of every beginning that the run is taken up again (L116)."""

    def tell(event: AnyEvent) -> None:
        observer(msgspec.structs.replace(event, resumed=True) if isinstance(event, RunStart) else event)

    return tell


def begin(session: Session, keeping: Keeping, *, seam: Seam = REAL) -> KeptRun:
    """Keep a new run. Raises ``RunStoreError`` when its journal cannot be made."""
    moment = seam.now()
    run = run_name(session.machine, seam)
    first = Begin(
        format=FORMAT,
        run=run,
        created=moment.timestamp(),
        mklang=__version__,
        machines=describe(session.machine, session.library),
        inputs=dict(session.inputs),
        options=session.options,
        answered_by=dict(keeping.answered_by),
    )
    journal = create_journal(keeping.path or keeping.folder / f"{run}.jsonl", first)
    return _kept(session, journal, keeping, seam)


def stored_machines(first: Begin) -> tuple[Machine, dict[str, Machine]]:
    """The machines a run began with, read from the texts in its journal."""
    machines = []
    for record in first.machines:
        if not record.text:
            raise RunStoreError(f"run '{first.run}': the text of machine '{record.name}' was not kept")
        machines.append(machine_from_text(record.text, record.path or record.name))
    return machines[0], {machine.name: machine for machine in machines}


def check_same(first: Begin, machine: Machine, library: Mapping[str, Machine]) -> None:
    """Refuse to go on with machines that mean something else than those the run began with (D5)."""
    found = differences(first, machine, library)
    if found:
        listed = "\n  ".join(found)
        raise RunStoreError(
            f"run '{first.run}' cannot go on with the machine as it is now:\n  {listed}\n"
            "go on with the one it began with (--stored), or take what still fits into a new run (--force)"
        )


def reopen(path: Path) -> JournalFile:
    """Open a journal to go on with its run. Raises ``RunStoreError`` for a run that is finished or already running."""
    journal = open_journal(path)
    try:
        check_open(journal)
    except RunStoreError:
        journal.close()
        raise
    return journal


def go_on(
    session: Session, journal: JournalFile, keeping: Keeping, *, asked: Mapping[str, Json], seam: Seam = REAL
) -> KeptRun:
    """Take a run up again with its own inputs, and its own policies as far as ``asked`` does not tighten them."""
    stored = current_options(journal)
    guards = carried_on(stored.guards, session.guards, (session.machine, *session.library.values()))
    _check_judged_alike(stored, session.options)
    options = msgspec.structs.replace(tightened(stored, asked), guards=guards)
    session = replace(session, inputs=journal.begin.inputs, options=options)
    check_prices(session)
    note_session(journal, options, at=seam.now().timestamp())
    return _kept(session, journal, keeping, seam)


def _check_judged_alike(stored: RunOptions, now: RunOptions) -> None:
    """A recorded decision was asked about whole or in batches, and can only be gone through again the same way."""
    if stored.whole_decisions == now.whole_decisions:
        return
    before, after = (", ".join(tier.value for tier in Tier if tier in one.whole_decisions) for one in (stored, now))
    raise UsageError(
        f"the run began with probabilities judging {before or 'no tier'}, and now they judge {after or 'none'}: go on "
        f"with the judge it began with ({'--judge noul' if before else '--judge choice'}, or its configuration)"
    )


def stored_source(first: Begin) -> str | None:
    """The file the run's machine was read from, if it is still there."""
    path = first.machines[0].path
    return path if path is not None and Path(path).is_file() else None


def take_what_fits(
    journal: JournalFile, machine: Machine, library: Mapping[str, Machine], *, seam: Seam = REAL
) -> tuple[JournalFile, int, tuple[str, ...]]:
    """For a machine that has changed: a new run with the answers that still fit it, the old run left as it is.

    Also the number of answers left behind, and the acting tools among those. A machine that means the same keeps its
    journal.
    """
    if not differences(journal.begin, machine, library):
        return journal, 0, ()
    fit = refit(machine, library, journal)
    run = run_name(machine, seam)
    first = msgspec.structs.replace(
        journal.begin,
        run=run,
        created=seam.now().timestamp(),
        machines=describe(machine, library),
        options=current_options(journal),
        parent=journal.begin.run,
    )
    taken = create_journal(journal.path.with_name(f"{run}.jsonl"), first)
    for line in journal.lines:
        if isinstance(line, Answered | Failed) and line.key in fit.used:
            taken.write(line)
    journal.close()
    return taken, fit.left, fit.effects


def _kept(session: Session, journal: JournalFile, keeping: Keeping, seam: Seam) -> KeptRun:
    oracle = JournaledOracle(
        session.oracle,
        journal,
        clock=lambda: seam.now().timestamp(),
        ask_seconds=keeping.ask_seconds,
        repeatable=session.repeatable,
    )
    return KeptRun(session=replace(session, oracle=oracle), journal=journal, seam=seam)


def refit(machine: Machine, library: Mapping[str, Machine], journal: JournalFile) -> Refit:
    """How far the recorded answers still fit a machine that has changed. Asks nobody."""
    finder = _Finder(journal)
    options = current_options(journal)
    asyncio.run(arun(machine, journal.begin.inputs, oracle=finder, library=library, options=options))
    used = finder.used
    left = [line for line in journal.lines if isinstance(line, Answered) and line.key not in used]
    begun = {line.key: line.tool for line in journal.lines if isinstance(line, Intent)}
    return Refit(
        used=frozenset(used), left=len(left), effects=tuple(begun[line.key] for line in left if line.key in begun)
    )


@dataclass(frozen=True, slots=True)
class Refit:
    """``used`` keys still fit, ``left`` answers do not; ``effects`` names the acting tools among those."""

    used: frozenset[str]
    left: int
    effects: tuple[str, ...]


class _Finder:
    """Replays as far as the recording fits, and remembers which records it used."""

    def __init__(self, journal: Journal) -> None:
        self._replayed = ReplayedOracle(journal)
        self.used: set[str] = set()

    async def answer(self, request: Request, /) -> Answer:
        """The recorded answer where it fits."""
        answer = await self._replayed.answer(request)
        self.used.add(request.key)
        return answer


def run_name(machine: Machine, seam: Seam) -> str:
    """A new run's name: the machine's, the time, and six digits so that no two are the same."""
    return f"{_slug(machine.name)}-{seam.now():%Y%m%d-%H%M%S}-{seam.nonce()[:6]}"


def _slug(name: str) -> str:
    """A machine's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:40] or "run"
