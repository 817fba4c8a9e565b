"""Why a guard says no: stable codes, each with a place in the value."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec


class Code(Enum):
    """What is wrong. The codes are permanent; 1 is structure, 2 the schema, 3 the forbidden list, 5 what came later."""

    TOO_MANY_BYTES = "G101"
    NOT_UTF8 = "G102"
    HALF_CHARACTER = "G103"
    UNREADABLE = "G104"
    KEY_TWICE = "G105"
    NOT_ONE_DOCUMENT = "G106"
    TOO_DEEP = "G107"
    TOO_MANY_ITEMS = "G108"
    TEXT_TOO_LONG = "G109"
    NOT_FINITE = "G110"
    NUMBER_TOO_LONG = "G111"
    NOT_JSON = "G112"
    SCHEMA = "G201"
    FORBIDDEN = "G301"
    ALTERED = "G501"


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing wrong with a value. ``pointer`` is its place as a JSON pointer (RFC 6901), empty for the whole.

    The message says what was found and what was allowed, and quotes no more of the value than a type or a length: it
    may be shown to a model that tries again. ``rule`` is the place in the schema, or the entry's reason.
    """

    code: Code
    message: str
    pointer: str = ""
    rule: str = ""

    def __str__(self) -> str:
        """One line: ``G201 at /0/importance: …``."""
        return f"{self.code.value}{f' at {self.pointer}' if self.pointer else ''}: {self.message}"

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        wire: dict[str, object] = {"code": self.code.value, "pointer": self.pointer, "message": self.message}
        return wire | {"rule": self.rule} if self.rule else wire


def pointer_of(path: Iterable[str | int]) -> str:
    """A path as a JSON pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


MOST = 100
"""How many failures of one value are listed at most."""
