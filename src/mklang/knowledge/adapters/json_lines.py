"""Plain JSON lines, by a mapping: which field is the type, the time, the session, the name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from mklang.errors import UsageError
from mklang.knowledge.importing import Event
from mklang.knowledge.record import TYPE, Origin

NAME = "jsonl"


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """Paths into a line, with dots. Without ``type_path`` every record is an ``observation``; without ``name`` an event
    is named by what it says."""

    type_path: str = ""
    time: str = ""
    session: str = ""
    name: str = ""
    origin: Origin = Origin.OBSERVED


def json_lines(path: Path, mapping: Mapping) -> Iterator[Event | str]:
    """The events in a file. A record in the form of a log keeps its type, and its time as ``at``."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    with file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield f"{path}:{number}: not JSON: {error}"
                continue
            if not isinstance(value, dict):
                yield f"{path}:{number}: an object is needed, not {type(value).__name__}"
                continue
            yield _event(value, mapping, path, line)


def _event(value: dict[str, Any], mapping: Mapping, path: Path, line: bytes) -> Event:
    is_record = value.keys() == {"ts", "type", "data"} and isinstance(value["data"], dict)
    data = {key: inner for key, inner in (value["data"] if is_record else value).items() if key != "_akc"}
    kind = str(_at(value, mapping.type_path or ("type" if is_record else "")) or "observation")
    return Event(
        session=str(_at(value, mapping.session) or path.name),
        name=str(_at(value, mapping.name) or sha256(line.strip()).hexdigest()[:20]),
        type=kind if TYPE.fullmatch(kind) else "observation",
        data=data,
        origin=mapping.origin,
        at=str(_at(value, mapping.time or ("ts" if is_record else "")) or ""),
    )


def _at(value: Any, path: str) -> Any:
    for step in path.split(".") if path else ():
        value = value.get(step) if isinstance(value, dict) else None
    return value if path else None
