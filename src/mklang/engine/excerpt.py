"""The ends of a value's JSON text, at a cost that depends on how much is wanted, not on the value's size (L35)."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice

from mklang.lang.values import Json

quote: Callable[[str], str] = json.encoder.encode_basestring
"""A text as JSON text: what ``dump`` makes of it, without its detour."""
dump: Callable[[Json], str] = json.JSONEncoder(ensure_ascii=False).encode
_FEW = 4
"""How many items from each end of a list or map are rendered at first; then as many as it takes by their length."""


def ends(value: Json, room: int) -> tuple[str, str, bool]:
    """The value's JSON text twice where it is not longer than ``room``, else its first and its last ``room / 2``.

    ``room`` is in characters. The third is whether something was left out.
    """
    half = (room + 1) // 2
    if isinstance(value, str):
        head = tail = quote(_both_ends(value, half))
    elif isinstance(value, list | dict):
        head, tail = _container(value, half)
    else:
        head = tail = dump(value)
    if head is tail and len(head) <= room:
        return head, head, False
    return head[:half], tail[-half:], True


def _container(value: list[Json] | dict[str, Json], half: int) -> tuple[str, str]:
    """A text whose first and one whose last ``half`` characters are right; one and the same when no item is missing."""
    count = _FEW
    while 2 * count < len(value):
        head, tail = dump(_some(value, count, half, back=False)), dump(_some(value, count, half, back=True))
        shorter = min(len(head), len(tail))
        if shorter > half:
            return head, tail
        count = min(max(2 * count, count * half // shorter + 2), 8 * count)
    whole = dump(_some(value, len(value), half, back=False))
    return whole, whole


def _some(value: list[Json] | dict[str, Json], count: int, half: int, *, back: bool) -> Json:
    """Up to ``count`` items from one end, the long texts among them shortened to their ends."""
    if isinstance(value, list):
        return [_shortened(item, half) for item in (value[-count:] if back else value[:count])]
    some = list(islice(reversed(value.items()) if back else value.items(), count))
    return {key: _shortened(item, half) for key, item in (reversed(some) if back else some)}


def _shortened(value: Json, half: int) -> Json:
    return _both_ends(value, half) if isinstance(value, str) else value


def _both_ends(text: str, half: int) -> str:
    return text[:half] + text[-half:] if len(text) > 2 * half else text
