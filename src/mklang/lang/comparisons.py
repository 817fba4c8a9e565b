"""Hooks whose name says everything: ``RELATION:PATH:ARGUMENT``, read here for the run and for the analysis (L59).

``PATH`` begins with a context key and goes on with dots, into maps by key and into lists by number, from 0. A text on
the way that is the JSON text of a map or list is read as that, so that what a tool observed can be looked into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, NoReturn

from mklang.lang.values import Json


class Relation(Enum):
    """What is asked about the value at a path."""

    EQ = "eq"
    NEQ = "neq"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    HAS = "has"
    LEN = "len"
    MATCHES = "matches"
    SCHEMA = "schema"
    EXISTS = "exists"


FORMS: Mapping[Relation, str] = {
    Relation.EQ: "eq:PATH:VALUE",
    Relation.NEQ: "neq:PATH:VALUE",
    Relation.LT: "lt:PATH:NUMBER",
    Relation.LE: "le:PATH:NUMBER",
    Relation.GT: "gt:PATH:NUMBER",
    Relation.GE: "ge:PATH:NUMBER",
    Relation.IN: "in:PATH:VALUE,VALUE,…",
    Relation.HAS: "has:PATH:VALUE",
    Relation.LEN: "len:PATH:LEAST..MOST, or one number",
    Relation.MATCHES: "matches:PATH:REGULAR EXPRESSION",
    Relation.SCHEMA: 'schema:PATH:{"type": "object", …}',
    Relation.EXISTS: "exists:PATH",
}
"""How each is written."""

NUMBERS = frozenset({Relation.LT, Relation.LE, Relation.GT, Relation.GE})
_RELATIONS = {relation.value: relation for relation in Relation}
_NUMBER = re.compile(r"[+-]?(\d{1,15}(\.\d{0,15})?|\.\d{1,15})([eE][+-]?\d{1,3})?")
_RANGE = re.compile(r"(\d{0,9})\.\.(\d{0,9})|(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A hook of this family. ``argument`` is as it is written; ``bounds`` are those of ``len``, ``number`` a number."""

    relation: Relation
    path: tuple[str, ...]
    argument: str = ""
    number: float = 0.0
    bounds: tuple[int, int | None] = (0, None)

    @property
    def keys(self) -> tuple[str, ...]:
        """The context keys it may look at: the path's first, and for a dotted path one of the whole name."""
        return self.path if len(self.path) == 1 else (self.path[0], ".".join(self.path))


@dataclass(frozen=True, slots=True)
class Malformed:
    """A name that begins like one of these and is none; ``why`` and the ``form`` it should have."""

    why: str
    form: str


def is_comparison(hook: str) -> bool:
    """Whether a hook's name begins like one of the family, well-formed or not."""
    return hook.partition(":")[0] in _RELATIONS and ":" in hook


@lru_cache(maxsize=1024)
def read_comparison(hook: str) -> Comparison | Malformed | None:
    """The comparison that a hook's name is; None for another kind of name. Patterns and schemas are not tried here."""
    word, colon, rest = hook.partition(":")
    relation = _RELATIONS.get(word)
    if relation is None or not colon:
        return None
    path, second, argument = rest.partition(":")
    parts = tuple(path.split("."))
    if relation is Relation.EXISTS and second:
        return Malformed("it takes a path and nothing else", FORMS[relation])
    if not all(parts):
        return Malformed("the path is empty, or has an empty part", FORMS[relation])
    if relation is Relation.EXISTS or (second and relation in {Relation.EQ, Relation.NEQ}):
        return Comparison(relation, parts, argument)
    if not argument:
        return Malformed("something is missing", FORMS[relation])
    return _READ.get(relation, Comparison)(relation, parts, argument)


def _number(relation: Relation, parts: tuple[str, ...], argument: str) -> Comparison | Malformed:
    if not _NUMBER.fullmatch(argument.strip()):
        return Malformed(f"'{argument}' is no number", FORMS[relation])
    return Comparison(relation, parts, argument, number=float(argument))


def _length(relation: Relation, parts: tuple[str, ...], argument: str) -> Comparison | Malformed:
    found = _RANGE.fullmatch(argument.strip())
    form = FORMS[relation]
    if found is None or argument.strip() == "..":
        return Malformed(f"'{argument}' is no range", form)
    least, most, exact = found.groups()
    bounds = (int(exact), int(exact)) if exact else (int(least or 0), int(most) if most else None)
    if bounds[1] is not None and bounds[0] > bounds[1]:
        return Malformed(f"'{argument}' begins above its end", form)
    return Comparison(relation, parts, argument, bounds=bounds)


def _schema(relation: Relation, parts: tuple[str, ...], argument: str) -> Comparison | Malformed:
    if not isinstance(looked_into(argument), dict):
        return Malformed("the schema is no JSON map", FORMS[relation])
    return Comparison(relation, parts, argument)


_READ: Mapping[Relation, Callable[[Relation, tuple[str, ...], str], Comparison | Malformed]] = {
    **dict.fromkeys(NUMBERS, _number),
    Relation.LEN: _length,
    Relation.SCHEMA: _schema,
}


def found_at(context: Mapping[str, Json], path: tuple[str, ...]) -> tuple[bool, Json]:
    """Whether there is a value at a path, and which. A key of the whole dotted name counts before the path (L59)."""
    whole = ".".join(path)
    if whole in context:
        return True, context[whole]
    if path[0] not in context:
        return False, None
    value: Json = context[path[0]]
    for name in path[1:]:
        if isinstance(value, str):
            value = looked_into(value)
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return False, None
    return True, value


def looked_into(text: str) -> Json:
    """The map or list whose JSON text it is, else the text itself."""
    if text[:1] not in "{[" and text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


Validator = Callable[[Any], bool]


class PatternProblem(ValueError):
    """A regular expression or schema that cannot be used."""


@lru_cache(maxsize=256)
def validator_of(relation: Relation, argument: str) -> Validator:
    """What tells whether a value fits a ``matches`` or ``schema``, in time linear in the value's length.

    A pattern is searched for anywhere in the text unless it is anchored; look-around and back-references do not exist.
    Raises ``PatternProblem``.
    """
    import jsonschema_rs  # costs more to import than a command takes; only such a hook needs it

    document = {"type": "string", "pattern": argument} if relation is Relation.MATCHES else json.loads(argument)
    try:
        compiled = jsonschema_rs.Draft202012Validator(
            document, validate_formats=True, pattern_options=jsonschema_rs.RegexOptions(), retriever=_nothing
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        if relation is Relation.MATCHES:
            raise PatternProblem("no such regular expression; there is no look-around and no back-reference") from None
        raise PatternProblem(" ".join(str(getattr(error, "message", error)).split())[:160]) from None
    return compiled.is_valid


def _nothing(uri: str) -> NoReturn:
    raise ValueError(f"'{uri}' is not in this schema, and nothing is fetched")
