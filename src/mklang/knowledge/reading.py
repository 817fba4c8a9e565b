"""Reading layer 1: a line at a time, the oldest day first, and what is wrong told with its place instead of lost."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from mklang.errors import KnowledgeError
from mklang.knowledge.files import open_plain, refused
from mklang.knowledge.record import BOUNDS, Record, read_record, record_id

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.jsonl")


class Cursor(msgspec.Struct, frozen=True, order=True):
    """A place in the log: behind ``offset`` bytes of the file of ``day``."""

    day: str = ""
    offset: int = 0


START = Cursor()


class Located(msgspec.Struct, frozen=True):
    """A record and where it is. ``id`` is its name; ``after`` the place behind it."""

    record: Record
    id: str
    file: str
    line: int
    offset: int
    after: Cursor


class Defect(msgspec.Struct, frozen=True):
    """A line that is no record. ``torn`` when it is the last and has no ending: a crash, or somebody writing now."""

    file: str
    line: int
    offset: int
    problem: str
    torn: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem} (at byte {self.offset})"


Read: TypeAlias = Located | Defect


def days_in(folder: Path) -> list[Path]:
    """The day files of a log, the oldest first. Raises ``KnowledgeError`` for a folder that cannot be read."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if _DAY.fullmatch(entry.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused(folder, error) from error
    return [folder / name for name in names]


def read_log(
    folder: Path, *, since: str = "", until: str = "", start: Cursor = START, numbered: bool = True
) -> Iterator[Read]:
    """Everything in a log from the day ``since`` (included) to ``until`` (not included), behind ``start``.

    Nothing but the line at hand is in memory. With ``numbered`` False a file is entered at the cursor, and line numbers
    count from there. Raises ``KnowledgeError`` for a file that cannot be read.
    """
    for path in days_in(folder):
        day = path.name[:10]
        if (since and day < since) or (until and day >= until) or day < start.day:
            continue
        yield from _read_day(path, start.offset if day == start.day else 0, numbered=numbered)


def _read_day(path: Path, start: int, *, numbered: bool) -> Iterator[Read]:
    day, name, limit = path.name[:10], path.name, BOUNDS.bytes + 2
    try:
        handle = open_plain(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    with os.fdopen(handle, "rb", buffering=1024 * 1024) as file:
        offset = 0 if numbered else file.seek(min(start, os.fstat(file.fileno()).st_size))
        number = 0
        try:
            while line := file.readline(limit):
                number += 1
                begin, offset = offset, offset + len(line)
                if not line.endswith(b"\n") and len(line) == limit:
                    offset += _skip_line(file)
                    yield Defect(name, number, begin, f"a line of more than {BOUNDS.bytes:,} bytes")
                elif not line.endswith(b"\n"):
                    yield Defect(name, number, begin, "the line is torn: it has no ending", torn=True)
                elif begin >= start and line != b"\n":
                    try:
                        record = read_record(line)
                    except ValueError as error:
                        yield Defect(name, number, begin, str(error))
                    else:
                        yield Located(record, record_id(line), name, number, begin, Cursor(day, offset))
        except OSError as error:
            raise refused(path, error) from error


def _skip_line(file: object) -> int:
    skipped = 0
    while part := file.readline(1024 * 1024):  # type: ignore[attr-defined]  # a binary file
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def records_of(folder: Path, **where: str) -> Iterator[Record]:
    """The records alone. Raises ``KnowledgeError`` at a line that is none; a torn last line is passed over."""
    for found in read_log(folder, **where):  # type: ignore[arg-type]  # since and until
        if isinstance(found, Located):
            yield found.record
        elif not found.torn:
            raise KnowledgeError(str(found))
