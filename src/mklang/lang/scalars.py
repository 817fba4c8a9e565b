"""What a plain scalar means (hazards §2): null, booleans, decimal integers and floats with a dot; the rest is text.

YAML 1.1 readers turn ``no`` into a boolean and ``010`` into 8. We do not; where somebody could have relied on it, we
say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_DIGITS = 300
"""A longer number is refused: no reader of the result could be trusted to keep it."""

NULL_WORDS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE_WORDS = frozenset({"true", "True", "TRUE"})
_FALSE_WORDS = frozenset({"false", "False", "FALSE"})

# Anything that is not text begins with one of these, or is empty.
_FIRST = frozenset("~nNtTfF+-.0123456789")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_OLD_BOOLEAN = re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")
_OTHER_BASE = re.compile(r"[-+]?0(?:[0-9_]+|x[0-9a-fA-F_]+|b[01_]+|o[0-7_]+)")
_GROUPED = re.compile(r"[-+]?[0-9]+_[0-9_]*(?:\.[0-9_]*)?")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?")
_EXPONENT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+")


@dataclass(frozen=True, slots=True)
class BadNumber:
    """A number that JSON cannot hold; ``reason`` completes the sentence "this number …"."""

    reason: str


def resolve(text: str) -> bool | int | float | str | BadNumber | None:
    """The value of a plain scalar."""
    if text and text[0] not in _FIRST:
        return text
    if text in NULL_WORDS:
        return None
    if text in _TRUE_WORDS:
        return True
    if text in _FALSE_WORDS:
        return False
    return _number(text)


def _number(text: str) -> int | float | str | BadNumber:
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= MAX_DIGITS else BadNumber(f"has more than {MAX_DIGITS} digits")
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if number - number == 0 else BadNumber("is too large")
    return text


def is_not_json(text: str) -> bool:
    """Whether a plain scalar is one of YAML's numbers that JSON does not have (``.nan``, ``.inf``)."""
    return _NOT_JSON.fullmatch(text) is not None


def is_old_boolean(text: str) -> bool:
    """Whether YAML 1.1 readers take the plain scalar for a boolean while it is text here."""
    return len(text) <= 3 and _OLD_BOOLEAN.fullmatch(text) is not None


def is_old_number(text: str) -> bool:
    """Whether some YAML readers take the plain scalar for a number while it is text here (``010``, ``1_000``)."""
    return _OTHER_BASE.fullmatch(text) is not None or _GROUPED.fullmatch(text) is not None


def ungrouped(text: str) -> str:
    """``1_000`` without its underscores; any other text as it is."""
    return text.replace("_", "") if _GROUPED.fullmatch(text) and not _OTHER_BASE.fullmatch(text) else text


def integer_hint(text: str) -> str:
    """What to write instead of a plain scalar that was meant to be a whole number; empty when there is no telling."""
    if _OTHER_BASE.fullmatch(text):
        return "write the number in decimal, without leading zeros"
    if _GROUPED.fullmatch(text):
        return f"write {text.replace('_', '')}"
    if _SEXAGESIMAL.fullmatch(text):
        return "write one number, without colons"
    if _EXPONENT.fullmatch(text):
        return "write all the digits"
    return ""
