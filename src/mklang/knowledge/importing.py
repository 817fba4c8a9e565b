"""Bringing records of elsewhere into layer 1, each once, however often the same file is brought.

Every event has a name in its session, and the name is kept in the record's mark. How far the log was read for names is
kept in a file of its own; when that is lost, the log is read again. A record's ``ts`` is when it was written down; when
the event happened is its ``at`` in the mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from mklang.knowledge.files import locked, make_folder, read_plain, replace_file
from mklang.knowledge.home import Home
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.reading import START, Cursor, Located, read_log
from mklang.knowledge.record import Origin
from mklang.lang.values import Json

BATCH = 500


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened elsewhere. ``name`` is its own within ``session``; ``at`` its time, as told there."""

    session: str
    name: str
    type: str
    data: dict[str, Any]
    origin: Origin
    at: str = ""
    parent: str = ""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """How many events came, how many were new, and what could not be taken, each with its place."""

    came: int
    new: int
    problems: tuple[str, ...]


class _Known(msgspec.Struct, kw_only=True):
    """The events of an adapter that are in the log up to a place."""

    upto: Cursor = START
    names: set[str] = msgspec.field(default_factory=set)


def import_events(home: Home, log: EpisodeLog, adapter: str, events: Iterable[Event | str]) -> Imported:
    """Append the events that are not in the log yet. A text among them is a problem that the adapter met, and is
    passed on. Imports of one adapter wait for each other."""
    make_folder(home.imports)
    file = home.imports / f"{adapter}.json"
    came = new = 0
    problems: list[str] = []
    with locked(home.imports / f"{adapter}.lock"):
        known = _known(home, file, adapter)
        batch: list[Event] = []
        for event in events:
            if isinstance(event, str):
                problems.append(event)
                continue
            came += 1
            name = _name(event.session, event.name)
            if name in known.names:
                continue
            known.names.add(name)
            batch.append(event)
            new += 1
            if len(batch) >= BATCH:
                _append(log, adapter, batch)
                batch = []
        _append(log, adapter, batch)
        _remember(home, file, known)
    return Imported(came=came, new=new, problems=tuple(problems))


def _append(log: EpisodeLog, adapter: str, batch: list[Event]) -> None:
    log.append_all((event.type, event.data, _mark(event, adapter)) for event in batch)


def _mark(event: Event, adapter: str) -> dict[str, Json]:
    mark: dict[str, Json] = {
        "origin": event.origin.value,
        "session": event.session,
        "event": event.name,
        "adapter": adapter,
    }
    mark |= {"at": event.at} if event.at else {}
    return mark | ({"parent": event.parent} if event.parent else {})


def _name(session: str, event: str) -> str:
    return hashlib.sha256(f"{session}\0{event}".encode("utf-8", "replace")).hexdigest()[:20]


def _known(home: Home, file: Path, adapter: str) -> _Known:
    """The names in the log: those on record, and those of what was appended since."""
    data = read_plain(file)
    try:
        known = msgspec.json.decode(data, type=_Known) if data else _Known()
    except msgspec.MsgspecError:
        known = _Known()
    for found in read_log(home.logs, start=known.upto, numbered=False):
        if isinstance(found, Located):
            mark = found.record.mark
            if mark.get("adapter") == adapter:
                known.names.add(_name(str(mark.get("session")), str(mark.get("event"))))
            known.upto = found.after
    return known


def _remember(home: Home, file: Path, known: _Known) -> None:
    for found in read_log(home.logs, start=known.upto, numbered=False):
        if isinstance(found, Located):
            known.upto = found.after
    replace_file(file, msgspec.json.encode(known) + b"\n")
