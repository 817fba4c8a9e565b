"""Layer 1: what happened, appended and never changed. The library locks, repairs torn lines and refuses links."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from mklang.knowledge import EpisodeLog, Home, Origin, Record, read_log
from mklang.knowledge.reading import Located


def now() -> datetime:
    """The one clock of the harness."""
    return datetime.now(UTC)  # noqa: TID251 - a program of its own has a seam of its own


def open_home(project: Path) -> Home:
    """The cycle's folder in a project; the log makes what is missing."""
    return Home((project / ".akc").resolve())


def record(home: Home, type_: str, text: str, *, origin: Origin = Origin.OBSERVED, session: str = "demo") -> None:
    """Write one episode. What a model wrote has a door of its own, because it is no experience."""
    with EpisodeLog(home.logs, now) as log:
        if origin is Origin.GENERATED:
            log.append_generated(type_, {"text": text}, session=session)
        else:
            log.append(type_, {"text": text}, origin, session=session)


def episodes(home: Home) -> Iterator[Record]:
    """What happened, the oldest first, a line at a time."""
    return (found.record for found in read_log(home.logs) if isinstance(found, Located))
