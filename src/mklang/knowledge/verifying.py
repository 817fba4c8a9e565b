"""Whether a log is as it was written: every line a record, each in the file of its day, past days as they were sealed.

A seal is a file beside a day's, made when the day is over: its length, hash and number of records. It shows a later
edit; it does not stop one, and whoever may write both can make both agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from mklang.knowledge.files import open_plain, read_plain, replace_file
from mklang.knowledge.home import parse_time
from mklang.knowledge.reading import Defect, Located, days_in, read_log


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """What a day's file was when the day was over."""

    day: str
    bytes: int
    sha: str
    records: int


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What was found: records, days, the sealed ones among them, problems each with its place, and what is only odd."""

    records: int
    days: int
    sealed: int
    problems: tuple[str, ...]
    odd: tuple[str, ...]


def seal_days(folder: Path, today: str) -> list[Seal]:
    """Seal every day before ``today`` (a UTC day) that has no seal yet; returns the new ones."""
    made = []
    for path in days_in(folder):
        day = path.name[:10]
        file = path.with_suffix(".seal")
        if day >= today or file.exists():
            continue
        size, sha = _hashed(path, None)
        records = sum(isinstance(found, Located) for found in read_log(folder, since=day, until=f"{day}x"))
        seal = Seal(day=day, bytes=size, sha=sha, records=records)
        replace_file(file, msgspec.json.encode(seal) + b"\n")
        made.append(seal)
    return made


def verify_log(folder: Path) -> Verified:
    """Look at everything in a log, reading line by line."""
    problems: list[str] = []
    odd: list[str] = []
    records = sealed = 0
    file = last = ""
    for found in read_log(folder):
        if isinstance(found, Defect):
            (odd if found.torn else problems).append(str(found))
            continue
        records += 1
        place = f"{found.file}:{found.line}"
        if not found.record.ts.startswith(found.file[:10]) and not _is_of_day(found.record.ts, found.file[:10]):
            problems.append(f"{place}: a record of {found.record.ts} in the file of another day")
        if found.file == file and found.record.ts < last:
            odd.append(f"{place}: the clock went back, from {last} to {found.record.ts}")
        file, last = found.file, found.record.ts
    days = days_in(folder)
    for path in days:
        seal = read_plain(path.with_suffix(".seal"))
        if seal is not None:
            sealed += 1
            problems += _against(path, seal)
    return Verified(records=records, days=len(days), sealed=sealed, problems=tuple(problems), odd=tuple(odd))


def _is_of_day(ts: str, day: str) -> bool:
    moment = parse_time(ts)
    return moment is not None and moment.date().isoformat() == day


def _against(path: Path, data: bytes) -> Iterator[str]:
    try:
        seal = msgspec.json.decode(data, type=Seal)
    except msgspec.MsgspecError as error:
        yield f"{path.with_suffix('.seal').name}: no seal: {error}"
        return
    size, sha = _hashed(path, seal.bytes)
    if sha != seal.sha or size < seal.bytes:
        yield f"{path.name}: not as it was sealed: a line was changed or taken out"
    elif size > seal.bytes:
        yield f"{path.name}: {size - seal.bytes} bytes were appended after it was sealed"


def _hashed(path: Path, first: int | None) -> tuple[int, str]:
    """A file's length, and the hash of its ``first`` bytes (None: of all)."""
    digest = sha256()
    with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
        left = os.fstat(file.fileno()).st_size if first is None else first
        while left and (part := file.read(min(left, 1024 * 1024))):
            digest.update(part)
            left -= len(part)
        return os.fstat(file.fileno()).st_size, digest.hexdigest()
