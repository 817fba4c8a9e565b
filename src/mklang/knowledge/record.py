"""A record of layer 1: when, what kind, and data of any shape; who it comes from is said inside the data.

The form is the public reference's: ``ts``, ``type`` and ``data``, and no other key. Under ``data._akc`` stands where
the record comes from; a record without it is somebody else's, and nobody knows.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from hashlib import sha256
from typing import Any

import msgspec

from mklang.errors import UsageError
from mklang.guards.structure import Bounds, faults, sound_texts
from mklang.knowledge.home import parse_time

RESERVED = "_akc"
TYPE = re.compile(r"[a-z][a-z0-9_-]{0,63}")
BOUNDS = Bounds(bytes=16 * 1024 * 1024, depth=64, items=1_000_000)
"""How large a record may be."""


class Origin(Enum):
    """Who a record comes from. Only what was observed, and what a person said, is experience (I4)."""

    OBSERVED = "observed"
    GENERATED = "generated"
    HUMAN = "human"
    UNKNOWN = "unknown"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the log."""

    ts: str
    type: str
    data: dict[str, Any]

    @property
    def origin(self) -> Origin:
        """Who it comes from, as its writer said."""
        told = self.mark.get("origin")
        return Origin(told) if told in _ORIGINS else Origin.UNKNOWN

    @property
    def mark(self) -> dict[str, Any]:
        """What its writer said about where it comes from."""
        mark = self.data.get(RESERVED)
        return mark if isinstance(mark, dict) else {}


_ORIGINS = {origin.value for origin in Origin}
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode


def record_line(ts: str, type_: object, data: object) -> bytes:
    """A record as its line, ending included. Raises ``UsageError`` with everything that is wrong with it."""
    if not isinstance(type_, str) or not TYPE.fullmatch(type_):
        raise UsageError(f"a record's type is 1 to 64 of a-z, 0-9, '_' and '-', a letter first, not {type_!r:.80}")
    if not isinstance(data, dict):
        raise UsageError(f"a record's data is a map, not a {type(data).__name__}")
    if sound_texts(data, BOUNDS) is None:
        found = "; ".join(str(fault) for fault in faults(data, BOUNDS)[:3]) or "not plain JSON data"
        raise UsageError(f"a record's data cannot be written: {found}")
    try:
        line = _encode(Record(ts, type_, data))
    except OverflowError:  # a number beyond 64 bits
        line = json.dumps({"ts": ts, "type": type_, "data": data}, ensure_ascii=False, separators=(",", ":")).encode()
    if len(line) > BOUNDS.bytes:
        raise UsageError(f"a record has {len(line):,} bytes, allowed are {BOUNDS.bytes:,}")
    return line + b"\n"


def read_record(line: bytes) -> Record:
    """The record in a line. Raises ``ValueError`` saying what is wrong with it."""
    try:
        record = _decode(line)
    except msgspec.ValidationError as error:
        raise ValueError(f"no record: {error}") from error
    except msgspec.DecodeError as error:
        record = _read_slowly(line, error)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not TYPE.fullmatch(record.type):
        raise ValueError(f"no record: type {record.type!r:.80}")
    if parse_time(record.ts) is None:
        raise ValueError(f"no record: ts {record.ts!r:.80} is no time")
    return record


def _read_slowly(line: bytes, error: Exception) -> Record:
    """What the quick reader does not take: numbers beyond 64 bits; half a surrogate pair, which is kept as it was."""
    try:
        value = json.loads(line)
        return msgspec.convert(value, Record)
    except (ValueError, RecursionError):
        raise ValueError(f"not JSON: {error}") from error


def record_id(line: bytes) -> str:
    """A record's name: 16 hex digits that its bytes decide."""
    return sha256(line.rstrip(b"\n")).hexdigest()[:16]
