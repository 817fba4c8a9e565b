"""Guard files (``*.guard.yaml``): read like machines, every problem with its place in one pass."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaml.nodes import MappingNode

from mklang.diagnostics import Diagnostic, Severity, has_errors, in_order
from mklang.errors import DocumentError, UsageError
from mklang.guards.forbidden import Forbidden, Where
from mklang.guards.guard import Format, Guard
from mklang.guards.normal import normalised
from mklang.guards.schemas import Schema, SchemaProblem
from mklang.guards.structure import Bounds
from mklang.lang.fields import Fields, Findings, below, read_map, read_value
from mklang.lang.files import read_source
from mklang.lang.nodes import describe
from mklang.lang.values import thaw
from mklang.lang.vocabulary import Key, Shape, closest
from mklang.lang.yaml_tree import Node, Position, compose
from mklang.source import Source

SUFFIX = ".guard.yaml"


def _key(name: str, shape: Shape, *, required: bool = False, least: int = 1, words: tuple[str, ...] = ()) -> Key:
    since = dict.fromkeys(words, "")
    return Key(name=name, places=frozenset(), shape=shape, description="", required=required, least=least, words=since)


def _table(*keys: Key) -> Mapping[str, Key]:
    return {key.name: key for key in keys}


_ROOT = _table(
    _key("guard", Shape.TEXT, required=True),
    _key("version", Shape.INTEGER),
    _key("parse", Shape.CHOICE, words=tuple(known.value for known in Format)),
    _key("schema", Shape.VALUES),
    _key("forbid", Shape.VALUES),
    _key("fold_whitespace", Shape.BOOLEAN),
    _key("bounds", Shape.VALUES),
    _key("per_item", Shape.BOOLEAN),
)
_ENTRY = _table(
    _key("text", Shape.TEXT, required=True),
    _key("where", Shape.CHOICE, words=tuple(where.value for where in Where)),
    _key("why", Shape.TEXT),
)
_BOUNDS = _table(*(_key(name, Shape.INTEGER) for name in Bounds.__struct_fields__))


@dataclass(frozen=True, slots=True)
class GuardReading:
    """A guard file as read: the guard, None when there are errors, and everything that is wrong or odd."""

    guard: Guard | None
    diagnostics: tuple[Diagnostic, ...]


def read_guard(path: str | os.PathLike[str]) -> GuardReading:
    """Read a guard file. Never raises for what is in it."""
    source, problems = read_source(path)
    return GuardReading(None, problems) if source is None else guard_in(source)


def load_guard(path: str | os.PathLike[str]) -> Guard:
    """The guard in a file. Raises ``DocumentError`` with every problem in it."""
    reading = read_guard(path)
    if reading.guard is None:
        raise DocumentError(reading.diagnostics)
    return reading.guard


def guard_in(source: Source) -> GuardReading:
    """Read a guard from text."""
    root, problems = compose(source)
    if root is None:
        empty = Diagnostic(code="guard-empty", message="this guard file is empty", path=source.name)
        return GuardReading(None, problems or (empty,))
    findings = Findings(source.name)
    guard = _read(root, findings)
    found = in_order(findings.everything())
    return GuardReading(None if has_errors(found) else guard, found)


def _read(root: Node, findings: Findings) -> Guard | None:
    fields = _fields(root, _ROOT, findings, where="", what="a guard")
    if fields is None:
        return None
    name, version = fields.text("guard"), fields.integer("version")
    if name is not None and not name.strip():
        fields.problem("bad-value", "guard", "'guard' must not be empty")
    parse = fields.choice("parse")
    parts: dict[str, Any] = {
        "schema": _schema(fields),
        "forbidden": _forbidden(fields, fold=bool(fields.boolean("fold_whitespace"))),
        "bounds": _bounds(fields),
        "fold_whitespace": bool(fields.boolean("fold_whitespace")),
        "per_item": bool(fields.boolean("per_item")),
        "parse": Format(parse) if parse else Format.JSON,
    }
    if name is None or has_errors(findings.everything()):
        return None
    try:
        return Guard(name=name, version=version or 1, **parts)
    except UsageError as error:
        findings.add("guard-unusable", str(error), Position(root))
        return None


def _fields(node: Node, keys: Mapping[str, Key], findings: Findings, *, where: str, what: str) -> Fields | None:
    entries = read_map(node, findings, where, f"{what} is a map")
    if entries is None:
        return None
    fields = Fields(entries, findings, keys, where=where, at=Position(node))
    for name in entries.keys() - keys.keys():
        meant = closest(name, keys)
        hint = f"did you mean '{meant}'?" if meant else f"known are {', '.join(keys)}"
        fields.key_problem("unknown-key", name, f"'{name}' is no key of {what}", hint)
    for key in keys.values():
        if key.required and key.name not in entries:
            fields.missing(key.name, what)
    return fields


def _schema(fields: Fields) -> Any:
    if "schema" not in fields:
        return None
    node = fields.entries["schema"][1]
    inner = Findings("")
    read_value(node, inner, "schema")
    value = thaw(read_value(node, fields.findings, "schema"))
    if not isinstance(value, dict | bool):
        fields.wrong_type("schema", "a JSON Schema, which is a map")
        return None
    if has_errors(inner.everything()):
        return value
    try:
        Schema(value)
    except SchemaProblem as problem:
        where = "schema"
        for step in problem.path:
            where = below(where, step)
        fields.findings.add("guard-schema", str(problem), Position(node).child(*problem.path), where)
    return value


def _forbidden(fields: Fields, *, fold: bool) -> tuple[Forbidden, ...]:
    entries = []
    for index, node in enumerate(fields.items("forbid") or ()):
        where = below("forbid", index)
        entry = _entry(node, fields.findings, where)
        if entry is None:
            continue
        if not normalised(entry.text, fold_whitespace=fold).strip(" "):
            message = "this entry has nothing in it that anybody could see, so it would be in every text"
            fields.findings.add("forbid-empty", message, Position(node), where)
        entries.append(entry)
    return tuple(entries)


def _entry(node: Node, findings: Findings, where: str) -> Forbidden | None:
    if isinstance(node, MappingNode):
        inner = _fields(node, _ENTRY, findings, where=where, what="an entry")
        text = inner.text("text") if inner else None
        if inner is None or text is None:
            return None
        return Forbidden(text, Where(inner.choice("where") or Where.ANYWHERE.value), inner.text("why") or "")
    value = read_value(node, findings, where)
    if isinstance(value, str):
        return Forbidden(value)
    message = f"a forbidden entry is text, not {describe(node)}"
    findings.add("wrong-type", message, Position(node), where, hint="quote it")
    return None


def _bounds(fields: Fields) -> Bounds | None:
    if "bounds" not in fields:
        return None
    inner = _fields(fields.entries["bounds"][1], _BOUNDS, fields.findings, where="bounds", what="'bounds'")
    if inner is None:
        return None
    given = {name: inner.integer(name) for name in inner.entries if name in _BOUNDS}
    if has_errors(fields.findings.everything()):
        return None
    return Bounds(**{name: value for name, value in given.items() if value is not None})


def lint_guard(path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Everything about a guard file: what makes it unusable, and what is legal and does not do what it seems to."""
    reading = read_guard(path)
    if reading.guard is None:
        return reading.diagnostics
    return in_order([*reading.diagnostics, *_odd(reading.guard, os.fspath(path))])


def _odd(guard: Guard, path: str) -> list[Diagnostic]:
    def warning(code: str, message: str, where: str = "", hint: str = "") -> Diagnostic:
        return Diagnostic(code=code, message=message, path=path, where=where, hint=hint, severity=Severity.WARNING)

    found = []
    if guard.vacuous:
        hint = "give it a schema or bounds of its own"
        found.append(warning("guard-vacuous", "this guard says nothing of its own about a value", hint=hint))
    elif guard.bounds is None:
        message = "no bounds of its own: values of up to a megabyte pass"
        found.append(warning("guard-unbounded", message, hint="add 'bounds: {bytes: …}'"))
    entries = [entry for entry in guard.forbidden if isinstance(entry, Forbidden)]
    plain = [normalised(entry.text, fold_whitespace=guard.fold_whitespace) for entry in entries]
    keys = {normalised(key) for key in _schema_keys(guard.schema)}
    for index, text in enumerate(plain):
        where = f"forbid[{index}]"
        if entries[index].where in {Where.ANYWHERE, Where.RAW, Where.KEYS} and any(text in key for key in keys):
            message = "this entry occurs in a key of the schema: every value that has the key is refused"
            found.append(warning("forbid-is-key", message, where, "add 'where: values'"))
        for other, longer in enumerate(plain):
            if other != index and text in longer and (text != longer or other < index):
                message = f"entry {other} holds entry {index}, so it forbids nothing more"
                found.append(warning("forbid-contained", message, f"forbid[{other}]"))
    return found


def _schema_keys(schema: object) -> set[str]:
    keys: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            properties = part.get("properties")
            keys.update(properties if isinstance(properties, Mapping) else ())
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return keys
