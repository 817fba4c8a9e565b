"""What a person's reply says, without a word from the host (L80)."""

from __future__ import annotations

from mklang.lang.values import Json

YES = frozenset({"yes", "y", "approve", "approved", "ok", "okay", "confirm", "confirmed", "true"})
"""Replies that say yes unless the host decides otherwise (W5)."""


def says_yes(reply: Json) -> bool:
    """Whether a reply confirms, by its own words."""
    return reply is True or (isinstance(reply, str) and reply.strip().strip(".!").casefold() in YES)
