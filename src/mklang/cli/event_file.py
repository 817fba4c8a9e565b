"""``--events FILE``: what a run says, written as it happens, one JSON object a line (L116)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mklang.cli.output import complain
from mklang.engine.events import AnyEvent, Observer, to_wire
from mklang.errors import UsageError
from mklang.host.seam import REAL


def check_events_file(path: str | None) -> None:
    """Refuse a file that cannot be written, before anything is run for it. Pipes and devices are not tried."""
    if path is None or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()):
        return
    try:
        Path(path).open("a", encoding="utf-8").close()
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def written_to(path: str) -> Iterator[Observer]:
    """An observer that writes every event to the file at once, with the time.

    When that fails it says so, once, and stops writing.
    """
    try:
        stream = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 - closed below, where closing may fail
    except OSError as error:
        raise _unwritable(path, error) from error
    broken = False

    def write(event: AnyEvent) -> None:
        nonlocal broken
        if broken:
            return
        try:
            wire = to_wire(event)
            line = {"type": wire.pop("type"), "time": REAL.now().isoformat(timespec="milliseconds"), **wire}
            stream.write(json.dumps(line, ensure_ascii=True) + "\n")
            stream.flush()
        except OSError as error:
            broken = True
            complain(f"--events {path}: {error.strerror}; the events from here on are lost", label="warning")

    try:
        yield write
    finally:
        try:
            stream.close()
        except OSError as error:
            if not broken:
                complain(f"--events {path}: {error.strerror}", label="warning")


def _unwritable(path: str, error: OSError) -> UsageError:
    return UsageError(f"--events {path}: cannot be written: {error.strerror}")
