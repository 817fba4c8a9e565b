"""Recordings played again: a session that asks nobody, and a scenario that pins a recorded run. Prints nothing.

A recording is a run's journal. Inputs and options come from it; the machine is the one given, so that a machine that
has changed shows where its run would part from the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mklang.diagnostics import Diagnostic, Severity
from mklang.durable.journal import JournalFile, is_running, read_journal
from mklang.durable.service import current_options, differences
from mklang.durable.store import RunStore
from mklang.engine.budget import Pool
from mklang.engine.outcome import Reason
from mklang.engine.requests import NO_USAGE, Answer, Produced, Request, Usage, Verdict
from mklang.engine.run import arun
from mklang.errors import DocumentError, RunStoreError
from mklang.host.runs import stored_machines
from mklang.host.session import Loaded, Session
from mklang.lang.models import Machine
from mklang.oracles.recording import Answered, Failed
from mklang.oracles.replayed import ReplayedOracle


def find_recording(name: str, folder: Path) -> JournalFile:
    """The recording in a file, or of a kept run by its name. Raises ``UsageError`` or ``RunStoreError``.

    A run that is still going on has no end yet, and is refused.
    """
    path = Path(name) if Path(name).is_file() else RunStore(folder).find(name)
    journal = read_journal(path)
    if is_running(path):
        raise RunStoreError(f"run '{journal.begin.run}' is still running")
    return journal


def replay(loaded: Loaded, journal: JournalFile) -> Session:
    """A session that answers from a recording only."""
    oracle = ReplayedOracle(
        journal, spent=limit_reached(journal), ending=why_it_ends(journal), recall=Recall(journal).request
    )
    return Session(
        machine=loaded.machine,
        library=loaded.library,
        inputs=journal.begin.inputs,
        options=current_options(journal),
        oracle=oracle,
        notice=f"replaying run {journal.begin.run}: no model is called",
        close=_nothing,
        guards=loaded.guards,
        replayed=journal.begin.run,
        warnings=(*loaded.warnings, *changes(journal, loaded.machine, loaded.library)),
    )


async def _nothing() -> None:
    """Nobody to let go of."""


def changes(journal: JournalFile, machine: Machine, library: Mapping[str, Machine]) -> tuple[Diagnostic, ...]:
    """A warning that the machines no longer mean what they meant when the run was recorded."""
    found = differences(journal.begin, machine, library)
    if not found:
        return ()
    message = "since the recording: " + "; ".join(line.strip() for line in found)
    return (
        Diagnostic(
            code="machine-changed", message=message, path=machine.source_name, severity=Severity.WARNING, where=""
        ),
    )


def limit_reached(journal: JournalFile) -> str:
    """In words, that the run came to its token or money limit; empty while something was left."""
    options = current_options(journal)
    pool = Pool(options.max_tokens, options.max_nano_usd)
    settled = {line.key: line for line in journal.lines if isinstance(line, Answered | Failed)}
    for line in settled.values():
        pool.charge(_cost(line))
    return pool.exhausted or (_AT_THE_LIMIT if ended_on_a_limit(journal) else "")


def ended_on_a_limit(journal: JournalFile) -> bool:
    """Whether the recorded run ended because tokens or money were used up, or too few were left."""
    end = journal.end
    return end is not None and Reason.COST_EXHAUSTED.value in (end.error or "").split(": ")


_AT_THE_LIMIT = "the recorded run ended here: the next request could have passed its limit of tokens or money"


def _cost(line: Answered | Failed) -> Usage:
    if isinstance(line, Failed):
        return line.usage
    return line.answer.usage if isinstance(line.answer, Produced | Verdict) else NO_USAGE


def why_it_ends(journal: JournalFile) -> str:
    """Why a recording holds no more than it does, where the run did not come to an end of its own."""
    end = journal.end
    if end is None:
        return "the recorded run died before it was asked"
    return "the recorded run was interrupted before it was answered" if end.status == "interrupted" else ""


class Recall:
    """What a recorded run asked: the journal keeps answers, and the machines' texts to find the questions with."""

    def __init__(self, journal: JournalFile) -> None:
        self._journal = journal
        self._requests: dict[str, Request] | None = None

    async def request(self, key: str) -> Request | None:
        """The request recorded under a key; None where it cannot be known."""
        if self._requests is None:
            self._requests = await self._replayed()
        return self._requests.get(key)

    async def _replayed(self) -> dict[str, Request]:
        try:
            machine, library = stored_machines(self._journal.begin)
        except (RunStoreError, DocumentError):
            return {}
        listener = _Listener(ReplayedOracle(self._journal))
        options = current_options(self._journal)
        await arun(machine, self._journal.begin.inputs, oracle=listener, library=library, options=options)
        return listener.heard


class _Listener:
    """Remembers what was asked."""

    def __init__(self, inner: ReplayedOracle) -> None:
        self._inner = inner
        self.heard: dict[str, Request] = {}

    async def answer(self, request: Request, /) -> Answer:
        """The inner answer."""
        self.heard[request.key] = request
        return await self._inner.answer(request)
