"""Own words coming back: text that repeats a known pattern or rule is interpretation, whatever its record says (I4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mklang.guards.normal import normalised
from mklang.knowledge.record import RESERVED

WORDS = 3
"""The length of a shingle."""
SHARE = 0.6
"""What part of a text's shingles must come back."""
_WORD = re.compile(r"\w+")


class Echo:
    """Recognises texts that are known already: all of one, or most of its three-word pieces, in any order."""

    def __init__(self, known: Iterable[str]) -> None:
        self._sizes: list[int] = []
        self._owners: dict[tuple[str, ...], list[int]] = {}
        for text in known:
            pieces = set(_shingles(text))
            if not pieces:
                continue
            for piece in pieces:
                self._owners.setdefault(piece, []).append(len(self._sizes))
            self._sizes.append(len(pieces))

    def hears(self, data: Mapping[str, Any]) -> bool:
        """Whether a record's data repeat something known."""
        if not self._sizes:
            return False
        found: Counter[int] = Counter()
        seen: set[tuple[str, ...]] = set()
        for text in _texts({key: value for key, value in data.items() if key != RESERVED}):
            for piece in _shingles(text):
                if piece in self._owners and piece not in seen:
                    seen.add(piece)
                    found.update(self._owners[piece])
        return any(count >= SHARE * self._sizes[owner] for owner, count in found.items())


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    """A text's pieces of three words; a text of fewer is one piece, marked so that it is found only as a whole."""
    words = _WORD.findall(normalised(text))
    if len(words) < WORDS:
        if words:
            yield ("", *words)
        return
    yield from zip(*(words[start:] for start in range(WORDS)), strict=False)
