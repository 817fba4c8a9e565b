"""The forbidden list: texts that must not occur, wherever and however they are written. It ships empty (I9, S46)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mklang.guards.failures import Code, Failure, pointer_of
from mklang.guards.normal import normalised
from mklang.guards.structure import walk

DEFAULT_FORBIDDEN_SUBSTRINGS: tuple[str, ...] = ()
"""What is forbidden when nobody says: nothing. Which texts are dangerous is the operator's to say."""

_APART = "\x1f"


class Where(Enum):
    """Where an entry is looked for."""

    ANYWHERE = "anywhere"
    VALUES = "values"
    KEYS = "keys"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A text that must not occur; ``why`` is shown with a failure and is never the text itself."""

    text: str
    where: Where = Where.ANYWHERE
    why: str = ""


class ForbiddenList:
    """Entries ready to be looked for."""

    def __init__(self, entries: tuple[Forbidden, ...], *, fold_whitespace: bool) -> None:
        """Raises ``ValueError`` for an entry that is nothing once it is normalised: it would be in every text."""
        self._fold = fold_whitespace
        self._needles = [(entry, self._plain(entry.text)) for entry in entries]
        for number, (_, needle) in enumerate(self._needles):
            if not needle.strip(" "):
                raise ValueError(f"forbidden entry {number} has nothing in it that anybody could see")

    def __bool__(self) -> bool:
        return bool(self._needles)

    def _plain(self, text: str) -> str:
        return normalised(text, fold_whitespace=self._fold)

    def clear(self, raw: str, texts: list[str]) -> bool:
        """Whether no entry occurs in the raw text, in any value or in any key. Quick; says nothing about places."""
        if not self._needles:
            return True
        heap = self._plain(raw) + _APART + self._plain(_APART.join(texts))
        return not any(needle in heap for _, needle in self._needles)

    def found(self, raw: str, value: Any, depth: int) -> Iterator[Failure]:
        """A failure for each entry at each place where it occurs; in the raw text only when it is nowhere else."""
        seen: set[int] = set()
        for path, item in walk(value, depth):
            if isinstance(item, str):
                yield from self._in(item, path, Where.VALUES, seen)
            elif isinstance(item, dict):
                for key in item:
                    yield from self._in(key, path, Where.KEYS, seen)
        yield from self._in(raw, (), Where.RAW, seen)

    def _in(self, text: str, path: tuple[str | int, ...], here: Where, seen: set[int]) -> Iterator[Failure]:
        plain = self._plain(text)
        for number, (entry, needle) in enumerate(self._needles):
            if needle not in plain or entry.where not in {Where.ANYWHERE, here}:
                continue
            if here is Where.RAW and number in seen:
                continue
            seen.add(number)
            what = {Where.VALUES: "text", Where.KEYS: "key of this map", Where.RAW: "raw text"}[here]
            reason = f" ({entry.why})" if entry.why else ""
            message = f"forbidden entry {number} occurs in the {what}{reason}"
            yield Failure(code=Code.FORBIDDEN, message=message, pointer=pointer_of(path))
