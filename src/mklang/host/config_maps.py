"""Maps of the runtime configuration: which keys may stand in one, and reading them with places (L97)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mklang.diagnostics import Severity
from mklang.errors import ConfigError
from mklang.lang.fields import Fields, Findings, below, check_tag, plain_value, read_map
from mklang.lang.vocabulary import Key, Shape, TextRule, closest
from mklang.lang.yaml_tree import Node, Position

_SOMETHING = TextRule(re.compile(r"\S"), "must not be empty")


def key_of(name: str, shape: Shape = Shape.TEXT, *, required: bool = False, words: tuple[str, ...] = ()) -> Key:
    """One key; a text must not be empty."""
    return Key(
        name=name,
        places=frozenset(),
        shape=shape,
        description="",
        required=required,
        words=MappingProxyType(dict.fromkeys(words, "")),
        holds=_SOMETHING if shape is Shape.TEXT else None,
    )


def by_name(*keys: Key) -> Mapping[str, Key]:
    """The keys of one map."""
    return MappingProxyType({key.name: key for key in keys})


def fields_of(node: Node, keys: Mapping[str, Key], findings: Findings, where: str, *, only: str = "") -> Fields | None:
    """One map of the configuration. A key that is none of ``keys`` is a warning (L97).

    With ``only`` it is an error: the word says what the keys are, as in "no tier 'x'".
    """
    what = f"'{where}'" if where else "a configuration"
    entries = read_map(node, findings, where, f"{what} takes a map")
    if entries is None:
        return None
    severity = Severity.ERROR if only else Severity.WARNING
    for name, (key, _) in entries.items():
        if name not in keys:
            meant = closest(name, keys)
            hint = f"did you mean '{meant}'?" if meant else f"known are {', '.join(keys)}"
            message = f"no {only} '{name}'" if only else f"'{name}' is no key of {what} and is ignored"
            findings.add("unknown-key", message, Position(key), below(where, name), hint=hint, severity=severity)
    fields = Fields(entries, findings, keys, where=where, at=Position(node))
    for known in keys.values():
        if known.required and known.name not in entries:
            fields.missing(known.name, what)
    return fields


def address(fields: Fields, name: str, check: Callable[[str], str]) -> str | None:
    """An address that passes a check; None when it is absent, or when the check raises, which is then noted.

    One that may hold a password is left for whoever connects to refuse: a problem shows the line it stands in.
    """
    written = fields.text(name)
    if written is None or "@" in written:
        return written
    try:
        return check(written)
    except ConfigError as error:
        fields.problem("bad-value", name, str(error))
        return None


def share(fields: Fields, name: str) -> float | None:
    """A number from 0 to 1; None when it is absent or something else, which is then noted."""
    entry = fields.entries.get(name)
    if entry is None or not check_tag(entry[1], fields.findings, below(fields.where, name)):
        return None
    value = plain_value(entry[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        fields.wrong_type(name, "a number from 0 to 1")
        return None
    if not 0 <= value <= 1:
        fields.problem("bad-value", name, f"'{name}' takes a number from 0 to 1, not {value}")
        return None
    return float(value)
