"""Where a project's cycle is: one folder, ``.akc``, and what is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from mklang.errors import KnowledgeError, UsageError

FOLDER = ".akc"
Clock: TypeAlias = Callable[[], datetime]
"""The time, with its offset. It comes from the host."""


@dataclass(frozen=True, slots=True)
class Home:
    """The places of one cycle. ``root`` is the folder ``.akc``; the project is the folder around it."""

    root: Path

    @property
    def project(self) -> Path:
        """The folder whose rules the cycle is about."""
        return self.root.parent

    @property
    def logs(self) -> Path:
        """Layer 1: one file a UTC day."""
        return self.root / "logs"

    @property
    def operations(self) -> Path:
        """Layer 2's truth."""
        return self.root / "knowledge.ops.jsonl"

    @property
    def knowledge(self) -> Path:
        """Layer 2 as the public reference has it: derived."""
        return self.root / "knowledge.json"

    @property
    def runs(self) -> Path:
        """The journals of distillations."""
        return self.root / "runs"

    @property
    def proposals(self) -> Path:
        """What waits for a person, a folder each."""
        return self.root / "proposals"

    @property
    def ledger(self) -> Path:
        """What was decided, row by row."""
        return self.root / "decisions.jsonl"

    @property
    def config(self) -> Path:
        """What the operator says; may be missing."""
        return self.root / "config.yaml"

    @property
    def imports(self) -> Path:
        """How far each import has got."""
        return self.root / "imports"


def find_home(start: Path, told: str | None = None) -> Home:
    """The home that is ``told``, else the first ``.akc`` in ``start`` or above. Raises ``KnowledgeError``."""
    if told is not None:
        return Home(Path(told).resolve())
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return Home((folder / FOLDER).resolve())
    raise KnowledgeError(f"there is no {FOLDER} in {start} or above; 'mklang akc init' makes one here")


def utc(moment: datetime) -> datetime:
    """A moment in UTC. Raises ``UsageError`` for one without an offset: nobody knows when that is."""
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        raise UsageError("a time needs its offset from UTC")
    return moment.astimezone(UTC)


def stamp(moment: datetime) -> str:
    """A moment as the log writes it: UTC, microseconds, always of one width."""
    return (moment if moment.tzinfo is UTC else utc(moment)).isoformat(timespec="microseconds")


def seconds_stamp(moment: datetime) -> str:
    """A moment as knowledge writes it: UTC, whole seconds (RFC 3339)."""
    return utc(moment).isoformat(timespec="seconds")


def parse_time(text: str) -> datetime | None:
    """A time as anybody wrote it, minutes and a missing offset (then UTC) included; None for what is no time."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        return None
