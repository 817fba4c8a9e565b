"""The ends of a value's JSON text, at a cost that depends on how much is wanted, not on the value's size (L35)."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice

from mklang.lang.values import Json

dump: Callable[[Json], str] = json.JSONEncoder(ensure_ascii=False).encode
_FEW = 16
"""How many items of a list or map are rendered at first; twice as many whenever they were not enough."""


def ends(value: Json, room: int) -> tuple[str, str, bool]:
    """The first and the last ``room`` characters of the value's JSON text, and whether there are more than those.

    A text that is not longer than ``room`` is given whole, twice.
    """
    if not isinstance(value, list | dict):
        text = dump(_both_ends(value, room))
        return text[:room], text[-room:], len(text) > room
    head, whole = _container(value, room, back=False)
    tail = head if whole else _container(value, room, back=True)[0]
    return head[:room], tail[-room:], len(head) > room


def _container(value: list[Json] | dict[str, Json], room: int, *, back: bool) -> tuple[str, bool]:
    """Text whose one end is right for ``room`` characters, and whether no item was left out of it."""
    count = _FEW
    while len(value) > count:
        text = dump(_some(value, count, room, back=back))
        if len(text) > room:
            return text, False
        count *= 2
    return dump(_some(value, count, room, back=back)), True


def _some(value: list[Json] | dict[str, Json], count: int, room: int, *, back: bool) -> Json:
    """Up to ``count`` items from one end, the long texts among them shortened to their ends."""
    if isinstance(value, list):
        return [_both_ends(item, room) for item in (value[-count:] if back else value[:count])]
    some = list(islice(reversed(value.items()) if back else value.items(), count))
    return {key: _both_ends(item, room) for key, item in (reversed(some) if back else some)}


def _both_ends(value: Json, room: int) -> Json:
    return value[:room] + value[-room:] if isinstance(value, str) and len(value) > 2 * room else value
