"""Reading one map of a document against the vocabulary: which keys may stand in it, and what each of them holds.

Nothing here raises. A problem is noted in ``Findings`` and the value read is None, so that reading goes on and every
problem of a document is found in one pass (W39).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.diagnostics import Severity
from mklang.lang import scalars
from mklang.lang.findings import Findings, below, rewrite, shorten
from mklang.lang.free_values import read_value, read_values
from mklang.lang.nodes import check_tag, describe, plain_value, read_map
from mklang.lang.values import Frozen
from mklang.lang.vocabulary import MAX_INTEGER, Key, closest, same_word
from mklang.lang.yaml_tree import Entry, Node, Position, is_blank

__all__ = [
    "Fields",
    "Findings",
    "below",
    "check_tag",
    "describe",
    "plain_value",
    "read_map",
    "read_value",
    "read_values",
    "shorten",
]


class Fields:
    """The entries of one map. ``at`` is where a missing key is reported, ``where`` the map's place in words."""

    __slots__ = ("at", "entries", "findings", "keys", "where")

    def __init__(
        self, entries: Mapping[str, Entry], findings: Findings, keys: Mapping[str, Key], *, where: str, at: Position
    ) -> None:
        """Reads ``entries`` by the rules of ``keys``."""
        self.entries = entries
        self.findings = findings
        self.where = where
        self.at = at
        self.keys = keys

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def position(self, name: str) -> Position:
        """Where the value of a key that exists stands."""
        key, value = self.entries[name]
        return Position(value, key)

    def problem(
        self,
        code: str,
        name: str,
        message: str,
        *,
        hint: str = "",
        severity: Severity = Severity.ERROR,
        becomes: str | None = None,
    ) -> None:
        """Note a problem with the value of a key that exists; ``becomes`` is what it is safe to write instead."""
        at, place = self.position(name), below(self.where, name)
        fix = None if becomes is None else rewrite(f"write {becomes}", at, becomes)
        self.findings.add(code, message, at, place, hint=hint, severity=severity, fix=fix)

    def key_problem(self, code: str, name: str, message: str, hint: str = "", *, becomes: str | None = None) -> None:
        """Note a problem with the key itself; ``becomes`` is the key it is safe to write instead."""
        at, place = Position(self.entries[name][0]), below(self.where, name)
        fix = None if becomes is None else rewrite(f"write {becomes}", at, becomes)
        self.findings.add(code, message, at, place, hint=hint, fix=fix)

    def missing(self, name: str, what: str, hint: str = "") -> None:
        """Note that a required key is not there."""
        self.findings.add("missing-key", f"{what} needs '{name}'", self.at, self.where, hint=hint)

    def wrong_type(self, name: str, expected: str, hint: str = "", *, becomes: str | None = None) -> None:
        """Note that a value is of another type than the key takes."""
        message = f"'{name}' takes {expected}, not {describe(self.entries[name][1])}"
        self.problem("wrong-type", name, message, hint=hint, becomes=becomes)

    def text(self, name: str) -> str | None:
        """The text of a key; None when it is absent or something else."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        value = entry[1]
        if value.__class__ is not ScalarNode or value.tag:
            return self._odd_text(name, value)
        text: str = value.value
        if not value.style and scalars.resolve(text) is not text:
            return self._odd_text(name, value)
        rule = self.keys[name].holds
        if rule and not rule.pattern.search(text):
            self.problem("bad-value", name, f"'{name}' {rule.words}")
            return None
        return text

    def _odd_text(self, name: str, value: Node) -> str | None:
        if not check_tag(value, self.findings, below(self.where, name)):
            return None
        if value.tag and isinstance(plain := plain_value(value), str):
            return plain
        self.wrong_type(name, "text", _text_hint(value), becomes=_quoted(value))
        return None

    def choice(self, name: str) -> str | None:
        """One of the words a key allows."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        words = self.keys[name].words
        value = plain_value(entry[1])
        if isinstance(value, str) and value in words:
            return value
        allowed = " or ".join(f"'{word}'" for word in words)
        message = f"'{name}' takes {allowed}, not {describe(entry[1])}"
        meant = closest(value, words) if isinstance(value, str) else None
        hint = f"did you mean '{meant}'?" if meant else ""
        becomes = meant if meant and isinstance(value, str) and same_word(value, meant) else None
        code = "bad-value" if isinstance(value, str) else "wrong-type"
        self.problem(code, name, message, hint=hint, becomes=becomes)
        return None

    def integer(self, name: str) -> int | None:
        """A whole number within the key's range; ``5.0`` is 5 (W38)."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        value = plain_value(entry[1])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | scalars.BadNumber):
            self.wrong_type(name, "a whole number", _integer_hint(entry[1]), becomes=_integer(entry[1]))
            return None
        least = self.keys[name].least
        if isinstance(value, scalars.BadNumber) or not least <= value <= MAX_INTEGER:
            message = f"'{name}' takes a whole number from {least} to {MAX_INTEGER:,}, not {describe(entry[1])}"
            self.problem("bad-value", name, message)
            return None
        return value

    def boolean(self, name: str) -> bool | None:
        """``true`` or ``false``."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        value = plain_value(entry[1])
        if isinstance(value, bool):
            return value
        self.wrong_type(name, "true or false", _boolean_hint(entry[1]), becomes=_boolean(entry[1]))
        return None

    def mapping(self, name: str) -> Mapping[str, Entry] | None:
        """The entries of a map, with merge keys expanded."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        where, expected = below(self.where, name), f"'{name}' takes a map"
        return read_map(entry[1], self.findings, where, expected, at=self.position(name))

    def items(self, name: str) -> list[Node] | None:
        """The items of a list."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        value = entry[1]
        if isinstance(value, SequenceNode):
            items: list[Node] = value.value
            return items
        hint = "begin each item with '- '" if isinstance(value, MappingNode) else ""
        self.wrong_type(name, "a list", hint)
        return None

    def values(self, name: str) -> Mapping[str, Frozen] | None:
        """A map of free values."""
        entries = self.mapping(name)
        if entries is None:
            return None
        return MappingProxyType(read_values(entries, self.findings, below(self.where, name)))


def _text_hint(node: Node) -> str:
    if isinstance(node, MappingNode) and node.flow_style:
        return 'put the whole text in double quotes: "{{ name }}"'
    if isinstance(node, SequenceNode) and node.flow_style:
        return "put the whole text in double quotes"
    if not isinstance(node, ScalarNode):
        return "if it is meant as text, quote it or write it as a block after '|'"
    if node.value in scalars.NULL_WORDS:
        return 'write "" for an empty text' if is_blank(node) else f'quote it: "{node.value}"'
    return f'quote it: "{shorten(node.value)}"'


def _quoted(node: Node) -> str | None:
    """A number or a boolean as the text it reads like."""
    if not isinstance(node, ScalarNode) or node.tag or node.value in scalars.NULL_WORDS:
        return None
    return f'"{node.value}"'


def _integer(node: Node) -> str | None:
    """A whole number in quotes, or with its digits grouped, as a number."""
    if not isinstance(node, ScalarNode) or node.tag:
        return None
    text = scalars.ungrouped(node.value)
    return text if isinstance(scalars.resolve(text), int) and text[:1].isdigit() else None


def _boolean(node: Node) -> str | None:
    """A boolean in quotes, or in the words of older YAML, as a boolean."""
    if not isinstance(node, ScalarNode) or node.tag:
        return None
    if not node.style and scalars.is_old_boolean(node.value):
        return "true" if node.value.lower() in {"yes", "on"} else "false"
    return node.value.lower() if node.style and isinstance(scalars.resolve(node.value), bool) else None


def _integer_hint(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return ""
    if node.style:
        return "write the number without quotes" if isinstance(scalars.resolve(node.value), int) else ""
    return scalars.integer_hint(node.value)


def _boolean_hint(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return ""
    if isinstance(scalars.resolve(node.value), bool):
        return "write it without quotes"
    if scalars.is_old_boolean(node.value):
        return f"write {'true' if node.value.lower() in {'yes', 'on'} else 'false'}"
    return ""
