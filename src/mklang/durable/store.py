"""The folder of a user's runs: new journals, finding one by name, and what a person wants to know about each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mklang.durable.journal import Begin, JournalFile, Session, create_journal, is_running, read_journal
from mklang.engine.requests import NO_USAGE, Produced, Usage, Verdict
from mklang.errors import RunStoreError, UsageError
from mklang.oracles.recording import Answered, Asked, Failed, Intent

SUFFIX = ".jsonl"
_RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}")


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run as a list shows it. ``state`` is done, halt, suspended, running, forked (not taken up yet), or died."""

    run: str
    machine: str
    state: str
    error: str | None
    created: float
    usage: Usage
    answers: int
    questions: tuple[Asked, ...]
    unknown: tuple[Intent, ...]
    path: str


class RunStore:
    """Journals in one folder, one file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path_of(self, run: str) -> Path:
        """The journal of a run. Names that could leave the folder are refused."""
        if not _RUN_NAME.fullmatch(run):
            raise UsageError(f"'{run}' is not a run's name: letters, digits, '.', '_' and '-' are")
        return self.folder / f"{run}{SUFFIX}"

    def create(self, begin: Begin) -> JournalFile:
        """Make the journal of a new run."""
        return create_journal(self.path_of(begin.run), begin)

    def find(self, name: str) -> Path:
        """The journal a person means: a path to a file, a run's name, or the beginning of exactly one.

        A bare word without a suffix is a name.
        """
        direct = Path(name)
        if (direct.suffix or direct.name != name) and direct.is_file():
            return direct
        path = self.path_of(name)
        if path.is_file():
            return path
        found = [known for known in self._files() if known.name.startswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(known.stem for known in found[:5])
            raise UsageError(f"'{name}' could be any of {len(found)} runs: {names}")
        raise UsageError(f"no run '{name}' in {self.folder}; 'mklang runs' lists what there is")

    def summaries(self) -> Iterator[RunSummary | tuple[Path, str]]:
        """Every run, the newest first; a file that cannot be read is given as its path and the reason."""
        for path in sorted(self._files(), key=lambda known: known.stat().st_mtime, reverse=True):
            try:
                yield summarise(read_journal(path), running=is_running(path))
            except RunStoreError as error:
                yield path, str(error)

    def fork(self, source: JournalFile, *, at: str, run: str, created: float) -> JournalFile:
        """A new run with the answers that came before the one at ``at``; the original stays as it is."""
        kept = _before(source, at)
        begin = msgspec.structs.replace(source.begin, run=run, created=created, parent=source.begin.run, fork_at=at)
        journal = self.create(begin)
        for line in kept:
            journal.write(line)
        return journal

    def _files(self) -> list[Path]:
        return [path for path in self.folder.glob(f"*{SUFFIX}") if path.is_file()] if self.folder.is_dir() else []


def summarise(journal: JournalFile, *, running: bool = False) -> RunSummary:
    """What a person wants to know about a run."""
    end = journal.end
    usage = NO_USAGE
    answers = 0
    for line in journal.lines:
        if isinstance(line, Answered):
            answers += 1
            if isinstance(line.answer, Produced | Verdict):
                usage = usage + line.answer.usage
        elif isinstance(line, Failed):
            usage = usage + line.usage
    return RunSummary(
        run=journal.begin.run,
        machine=journal.begin.machines[0].name,
        state=_state(journal, running),
        error=end.error if end else None,
        created=journal.begin.created,
        usage=usage,
        answers=answers,
        questions=tuple(journal.questions),
        unknown=tuple(journal.unknown_outcomes),
        path=str(journal.path),
    )


def _state(journal: JournalFile, running: bool) -> str:
    if running:
        return "running"
    end = journal.end
    if end is not None:
        return end.status
    begun = any(isinstance(line, Session) for line in journal.lines)
    return "forked" if journal.begin.parent is not None and not begun else "died"


def _before(source: JournalFile, at: str) -> list[Answered | Failed]:
    kept: list[Answered | Failed] = []
    for line in source.lines:
        if getattr(line, "key", None) == at:
            return kept
        if isinstance(line, Answered | Failed):
            kept.append(line)
    near = ", ".join(line.key for line in kept[:8])
    raise UsageError(f"run '{source.begin.run}' has no record '{at}' to fork at; it begins with {near}")
