"""Layer 1: what happened, written down once and never changed (I1). Many processes may write at the same time."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

from mklang.errors import KnowledgeError, UsageError
from mklang.knowledge.files import PRIVATE, make_folder, open_plain, refused, write_or_undo
from mklang.knowledge.home import Clock, stamp
from mklang.knowledge.record import RESERVED, Origin, record_line
from mklang.lang.values import Json

REPAIR = "log_repair"
"""The type of the record that says that a torn line stands before it."""


_NEVER = "-"
"""Begins no time."""
_SECOND = len("2026-12-01T00:00:00")


class Sync(Enum):
    """When an append is safe against a loss of power; against the death of a process it always is."""

    ALWAYS = "always"
    INTERVAL = "interval"
    OFF = "off"


class EpisodeLog:
    """The writing side of a log: ``FOLDER/YYYY-MM-DD.jsonl``, the day being that of the record's own ``ts``, in UTC.

    ``interval`` syncs at the first append in each second, and at the end. Not for threads at the
    same time; every thread and process has its own.
    """

    def __init__(self, folder: Path, clock: Clock, *, sync: Sync = Sync.INTERVAL) -> None:
        self.folder = folder
        self._clock = clock
        self._sync = sync
        self._day, self._path = _NEVER, ""
        self._handle = -1
        self._looked = self._synced = _NEVER
        self._dirty = False
        self._end = -1

    def append(self, type_: str, data: Mapping[str, Json], origin: Origin, **mark: Json) -> str:
        """Write a record of something that was observed, or that a person did; returns its ``ts``.

        ``mark`` is more about where it comes from: session, run, event, adapter. When this returns, other processes
        see the record. Raises ``UsageError`` for data that are no record, ``KnowledgeError`` when the log cannot be
        written: then nothing of the record is in it.
        """
        if origin is Origin.GENERATED:
            raise UsageError("what a model wrote is appended with append_generated")
        return self._write([(type_, data, {"origin": origin.value, **mark})])

    def append_generated(self, type_: str, data: Mapping[str, Json], **mark: Json) -> str:
        """The one way in for what a model wrote: never experience, whatever it says (I4)."""
        return self._write([(type_, data, {"origin": Origin.GENERATED.value, **mark})])

    def append_all(self, records: Iterable[tuple[str, Mapping[str, Json], Mapping[str, Json]]]) -> int:
        """Write records of type, data and mark, one after the other with nothing of others between; returns how many.

        All of them are there afterwards, or none.
        """
        listed = list(records)
        if listed:
            self._write(listed)
        return len(listed)

    def _write(self, records: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Json]]]) -> str:
        ts = stamp(self._clock())
        lines = b"".join([record_line(ts, kind, _marked(data, mark)) for kind, data, mark in records])
        try:
            if not ts.startswith(self._day):
                self._open(ts[:10])
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                self._put(ts, lines)
            finally:
                fcntl.flock(self._handle, fcntl.LOCK_UN)
            if self._sync is not Sync.OFF:
                self._settle(ts)
        except OSError as error:
            raise refused(Path(self._path), error) from error
        return ts

    def _put(self, ts: str, lines: bytes) -> None:
        """Write at the end of the file, which is locked; a file that was moved away is left and a new one begun."""
        found = os.fstat(self._handle)
        if found.st_nlink != 1 or (not ts.startswith(self._looked) and not self._is_still(found, ts)):
            self._open(ts[:10])
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            found = os.fstat(self._handle)
            if not self._is_still(found, ts):
                raise KnowledgeError(f"{self._path}: the file is moved away while it is being written; try again")
        size = found.st_size
        if size not in (0, self._end) and os.pread(self._handle, 1, size - 1) != b"\n":
            data = {RESERVED: {"origin": Origin.OBSERVED.value}, "found": "a torn line before this one"}
            lines = b"\n" + record_line(ts, REPAIR, data) + lines
        write_or_undo(self._handle, lines, size)
        self._end = size + len(lines)
        self._dirty = True

    def _open(self, day: str) -> None:
        self.close()
        make_folder(self.folder)
        path = self.folder / f"{day}.jsonl"
        self._path = str(path)
        self._handle = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        found = os.fstat(self._handle)
        if stat.S_IMODE(found.st_mode) != PRIVATE:
            os.fchmod(self._handle, PRIVATE)
        self._day, self._looked, self._end = day, _NEVER, -1

    def _is_still(self, mine: os.stat_result, ts: str) -> bool:
        """Whether the open file is the one under the day's name; looked at once a second."""
        try:
            found = os.stat(self._path, follow_symlinks=False)  # noqa: PTH116 - nothing else is needed of the path
        except FileNotFoundError:
            return False
        self._looked = ts[:_SECOND]
        return (found.st_ino, found.st_dev) == (mine.st_ino, mine.st_dev) and mine.st_nlink == 1

    def _settle(self, ts: str) -> None:
        if self._sync is Sync.ALWAYS or not ts.startswith(self._synced):
            os.fdatasync(self._handle)
            self._synced, self._dirty = ts[:_SECOND], False

    def close(self) -> None:
        """Sync what is not, as far as the policy asks for it, and let go of the file."""
        if self._handle < 0:
            return
        try:
            if self._dirty and self._sync is not Sync.OFF:
                os.fsync(self._handle)
        except OSError as error:
            raise refused(Path(self._path), error) from error
        finally:
            os.close(self._handle)
            self._handle, self._day, self._dirty = -1, _NEVER, False

    def __enter__(self) -> EpisodeLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _marked(data: object, mark: Mapping[str, Json]) -> object:
    if not isinstance(data, Mapping):
        return data
    if RESERVED in data:
        raise UsageError(f"'{RESERVED}' in a record's data is reserved: it says where the record comes from")
    return {**data, RESERVED: mark}
