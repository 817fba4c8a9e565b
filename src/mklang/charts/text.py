"""Texts of a document as a picture may hold them: one line, short, nothing that a viewer would obey."""

from __future__ import annotations

import re
import textwrap

LONGEST = 46
"""How many characters of a condition a label shows."""
WIDEST = 26
"""How many characters a line of a label has, about."""

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def one_line(text: str) -> str:
    """The text as one line without control characters."""
    return _UNSAFE.sub("\ufffd", " ".join(text.split()))


def shorten(text: str, limit: int = LONGEST) -> str:
    """The text as one line, cut between words where that loses little."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    words = cut.rpartition(" ")[0]
    return f"{(words if len(words) > limit * 2 // 3 else cut).rstrip()}…"


def wrapped(label: str) -> list[str]:
    """A label as short lines; the later ones begin with blanks that stay blanks."""
    lines = textwrap.wrap(label, WIDEST, break_long_words=False, break_on_hyphens=False)
    return lines[:1] + [f"\u00a0\u00a0\u00a0{line}" for line in lines[1:]]
