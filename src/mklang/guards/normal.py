"""Text as the forbidden list compares it: how it is written does not matter, what it says does.

Compatibility forms are unified (NFKC), case is folded, and characters that nobody sees (zero-width, bidirectional
controls, soft hyphens, variation selectors: Unicode's default-ignorable code points) are dropped. Letters of another
script that merely look alike stay what they are: which of them to mistrust is an opinion, and the guard has none.
"""

from __future__ import annotations

import re
from unicodedata import normalize

_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_BLANKS = re.compile(r"\s+")


def normalised(text: str, *, fold_whitespace: bool = False) -> str:
    """The text in its comparable form. With ``fold_whitespace`` every run of white space is one space."""
    plain = text.lower() if text.isascii() else _unified(text)
    return _BLANKS.sub(" ", plain) if fold_whitespace else plain


def _unified(text: str) -> str:
    visible = _IGNORABLE.sub("", text)
    folded = normalize("NFKC", normalize("NFKC", visible).casefold())
    return _IGNORABLE.sub("", folded)
