"""A tool, a hook and a guard. Models are in :mod:`mklang_example.models`, a machine is in ``machines``."""

from __future__ import annotations

import mklang
from mklang.guards import Bounds, Format, Guard


@mklang.tool(effect="read", idempotent=True)
def word_count(text: str) -> str:
    """How many words a text has."""
    return str(len(text.split()))


@mklang.hook
def is_short(words: int) -> bool:
    """Whether the key 'words' is a number below 50."""
    return words < 50


one_line = Guard(
    name="one_line",
    parse=Format.TEXT,
    schema={"type": "string", "pattern": r"^[^\n]*$"},
    bounds=Bounds(bytes=500),
)
