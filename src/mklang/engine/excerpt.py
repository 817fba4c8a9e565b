"""The ends of a value's JSON text, at a cost that depends on how much is wanted, not on the value's size (L35)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from mklang.lang.values import Json

dump: Callable[[Json], str] = json.JSONEncoder(ensure_ascii=False).encode


def ends(value: Json, room: int) -> tuple[str, str, bool]:
    """The first and the last ``room`` characters of the value's JSON text, and whether there are more than those.

    A text that is not longer than ``room`` is given whole, twice.
    """
    head = _head(value, room + 1)
    if len(head) <= room:
        return head, head, False
    return head[:room], _tail(value, room)[-room:], True


def _head(value: Json, room: int) -> str:
    """The whole text, or at least ``room`` characters from its beginning."""
    if isinstance(value, str):
        return dump(value) if len(value) <= room else dump(value[:room])[:-1]
    if isinstance(value, list):
        return _front("[", "]", ((None, item) for item in value), room)
    if isinstance(value, dict):
        return _front("{", "}", value.items(), room)
    return dump(value)


def _front(opening: str, closing: str, items: Iterable[tuple[str | None, Json]], room: int) -> str:
    text = opening
    for key, item in items:
        text += ("" if text is opening else ", ") + ("" if key is None else f"{dump(key)}: ")
        text += _head(item, room)
        if len(text) >= room:
            return text
    return text + closing


def _tail(value: Json, room: int) -> str:
    """The whole text, or at least ``room`` characters up to its end."""
    if isinstance(value, str):
        return dump(value) if len(value) <= room else dump(value[-room:])[1:]
    if isinstance(value, list):
        return _back("[", "]", ((None, item) for item in reversed(value)), room)
    if isinstance(value, dict):
        return _back("{", "}", reversed(value.items()), room)
    return dump(value)


def _back(opening: str, closing: str, items: Iterable[tuple[str | None, Json]], room: int) -> str:
    text = closing
    for key, item in items:
        text = _tail(item, room) + ("" if text is closing else ", ") + text
        if len(text) >= room:
            return text
        text = ("" if key is None else f"{dump(key)}: ") + text
    return opening + text
