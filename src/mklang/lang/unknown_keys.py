"""Keys that may not stand where they stand: what was probably meant, or where they belong (W39)."""

from __future__ import annotations

from mklang.lang.fields import Fields
from mklang.lang.findings import shorten
from mklang.lang.vocabulary import GATES, KEYS, KEYS_AT, STATES, Place, closest, homes, same_word

_FAMILIES = (frozenset({Place.DOCUMENT}), STATES, GATES, frozenset({Place.DECLARATION}))
_NAMES = {place: frozenset(key.name for key in KEYS if key.places & family) for family in _FAMILIES for place in family}


def report_unknown(fields: Fields, place: Place) -> set[str]:
    """Report the keys that no map of this family takes; the keys that were probably meant are returned."""
    meant: set[str] = set()
    for name in fields.entries:
        if name in _NAMES[place]:
            continue
        if fields.findings.full:
            break
        guess = None if homes(name) else _guess(name, fields, place)
        if guess and guess not in fields.entries:
            meant.add(guess)
        message = f"'{shorten(name)}' is not a key of {_family(place)}"
        becomes = guess if guess and guess not in fields.entries and same_word(name, guess) else None
        fields.key_problem("unknown-key", name, message, _hint(name, guess, place), becomes=becomes)
    return meant


def _guess(name: str, fields: Fields, place: Place) -> str | None:
    """The key that was probably meant: one that is not written yet before one that is."""
    for known in (KEYS_AT[place], _NAMES[place]):
        if guess := closest(name, [key for key in known if key not in fields.entries]):
            return guess
    return closest(name, KEYS_AT[place])


def _family(place: Place) -> str:
    return "a state" if place in STATES else "a gate" if place in GATES else place.value


def _hint(name: str, guess: str | None, place: Place) -> str:
    if guess:
        return f"did you mean '{guess}'?"
    home = homes(name)
    return f"it belongs to {home}" if home else "known here: " + ", ".join(KEYS_AT[place])
