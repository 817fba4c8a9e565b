"""The guard: code between a model's text and durable state. Structure always; schema, bounds, forbidden texts if told.

A guard is data and a pure function of it: it has no place for a callback, so it cannot ask a model (I10). A value
passes whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from mklang.errors import GuardRefused, UsageError
from mklang.guards.checked import Checked, Receipt, canonical, checked
from mklang.guards.failures import MOST, Code, Failure
from mklang.guards.forbidden import DEFAULT_FORBIDDEN_SUBSTRINGS, Forbidden, ForbiddenList
from mklang.guards.plain_yaml import parse_yaml
from mklang.guards.schemas import Schema, SchemaProblem
from mklang.guards.structure import (
    DEFAULT_BOUNDS,
    Bounds,
    decode,
    faults,
    parse_json,
    parse_json_lines,
    sound_texts,
)
from mklang.lang.values import Json, type_name


class Format(Enum):
    """How text becomes a value."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml-safe"


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What a value must be. Raises ``UsageError`` for a schema or an entry that cannot mean anything.

    ``schema`` is JSON Schema 2020-12; None admits every structure. ``forbidden`` are texts that must not occur.
    ``bounds`` None leaves the built-in ones, which are no opinion of the guard's (see ``vacuous``). With ``per_item`` a
    list passes without the items that fail.
    """

    name: str
    version: int = 1
    parse: Format = Format.JSON
    schema: Mapping[str, Any] | bool | None = None
    forbidden: Iterable[Forbidden | str] = DEFAULT_FORBIDDEN_SUBSTRINGS
    bounds: Bounds | None = None
    fold_whitespace: bool = False
    per_item: bool = False
    sha: str = field(init=False)
    _schema: Schema | None = field(init=False, repr=False, compare=False)
    _forbidden: ForbiddenList = field(init=False, repr=False, compare=False)
    _bounds: Bounds = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        entries = tuple(Forbidden(entry) if isinstance(entry, str) else entry for entry in self.forbidden)
        made: dict[str, object] = {"forbidden": entries, "_bounds": self.bounds or DEFAULT_BOUNDS}
        try:
            made["_schema"] = None if self.schema is None else Schema(self.schema)
            made["_forbidden"] = ForbiddenList(entries, fold_whitespace=self.fold_whitespace)
        except SchemaProblem as problem:
            raise UsageError(f"guard '{self.name}': schema: {problem}") from problem
        except ValueError as problem:
            raise UsageError(f"guard '{self.name}': {problem}") from problem
        for name, value in made.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "sha", sha256(canonical(self._meaning())).hexdigest())

    def _meaning(self) -> dict[str, object]:
        return {
            "name": self.name,
            "version": self.version,
            "parse": self.parse.value,
            "schema": self.schema,
            "forbidden": [[entry.text, entry.where.value] for entry in self.forbidden if isinstance(entry, Forbidden)],
            "bounds": msgspec.to_builtins(self._bounds),
            "fold_whitespace": self.fold_whitespace,
            "per_item": self.per_item,
        }

    @property
    def vacuous(self) -> bool:
        """Whether the guard says nothing of its own: no schema, no bounds. It runs; an audit does not count it."""
        return self.schema in (None, True, {}) and self.bounds is None

    @property
    def limit(self) -> int:
        """How many bytes a value may have."""
        return self._bounds.bytes

    def check(self, raw: bytes | str) -> Checked[Any]:
        """The value of a text or its bytes. Raises ``GuardRefused`` with every failure."""
        found = self.examine(raw)
        if isinstance(found, Checked):
            return found
        raise GuardRefused(self.name, found)

    def check_value(self, value: Json) -> Checked[Any]:
        """A value that is decoded already; for a guard of ``parse: text`` a text. Raises ``GuardRefused``."""
        found = self.examine_value(value)
        if isinstance(found, Checked):
            return found
        raise GuardRefused(self.name, found)

    def load(self, path: str | Path) -> Checked[Any]:
        """What a file holds, checked as strictly as before it was written. Raises ``GuardRefused``, ``OSError``."""
        with Path(path).open("rb") as file:
            return self.check(file.read(self._bounds.bytes + 1))

    def examine(self, raw: bytes | str) -> Checked[Any] | tuple[Failure, ...]:
        """The checked value, or why it does not pass."""
        decoded = decode(raw, self._bounds)
        if isinstance(decoded, Failure):
            return (decoded,)
        text, data = decoded
        parsed = self._parsed(text)
        if isinstance(parsed, Failure):
            return (parsed,)
        return self._judge(parsed, text, data)

    def examine_value(self, value: Any) -> Checked[Any] | tuple[Failure, ...]:
        """The same for a value that is decoded already."""
        if self.parse is Format.TEXT:
            if not isinstance(value, str):
                return (Failure(code=Code.NOT_JSON, message=f"this guard takes text, not a {type_name(value)}"),)
            return self.examine(value)
        if sound_texts(value, self._bounds) is None:
            return tuple(faults(value, self._bounds)) or (Failure(code=Code.NOT_JSON, message="not plain JSON data"),)
        data = canonical(value)
        if len(data) > self._bounds.bytes:
            return (Failure(code=Code.TOO_MANY_BYTES, message=f"more than {self._bounds.bytes:,} bytes"),)
        return self._judge(value, data.decode(), data)

    def examine_any(self, value: Json) -> Checked[Any] | tuple[Failure, ...]:
        """A value as a machine's state has it: text is read as this guard reads text, the rest is taken as it is."""
        return self.examine(value) if isinstance(value, str) else self.examine_value(value)

    def feedback(self, failures: Iterable[Failure]) -> str:
        """Failures in words, for one more attempt. Whether there is one is for the caller's loop to say."""
        lines = [f"- {failure}" for failure in failures]
        more = [f"- and {len(lines) - 10} more"] if len(lines) > 10 else []
        return "\n".join(["The previous output was refused:", *lines[:10], *more])

    def _parsed(self, text: str) -> Json | Failure:
        match self.parse:
            case Format.TEXT:
                return text
            case Format.JSON:
                return parse_json(text, self._bounds)
            case Format.JSONL:
                return parse_json_lines(text, self._bounds)
            case Format.YAML:
                return parse_yaml(text, self._bounds)

    def _judge(self, value: Json, text: str, data: bytes) -> Checked[Any] | tuple[Failure, ...]:
        failures = self._failures(value, text)
        if not failures:
            return self._pass(value, data)
        if not self.per_item or not isinstance(value, list):
            return failures
        bad = {_item_of(failure) for failure in failures}
        if None in bad or len(failures) >= MOST:
            return failures
        kept: list[Json] = [item for index, item in enumerate(value) if index not in bad]
        again = self._failures(kept, canonical(kept).decode())
        return again or self._pass(kept, data, refused=failures)

    def _failures(self, value: Json, text: str) -> tuple[Failure, ...]:
        """Everything wrong with a value. What is unsound is not shown to the schema: NaN would pass a maximum."""
        texts = sound_texts(value, self._bounds)
        if texts is None:
            return tuple(faults(value, self._bounds))
        found: list[Failure] = []
        if self._schema is not None and not self._schema.admits(value):
            found += self._schema.failures(value)
        if not self._forbidden.clear(text, texts):
            found += self._forbidden.found(text, value, self._bounds.depth)
        return tuple(found[:MOST])

    def _pass(self, value: Json, data: bytes, refused: tuple[Failure, ...] = ()) -> Checked[Any]:
        out = canonical(value)
        receipt = Receipt(
            guard=self.name,
            version=self.version,
            guard_sha=self.sha,
            in_sha=sha256(data).hexdigest(),
            out_sha=sha256(out).hexdigest(),
            bytes=len(out),
            refused=refused,
        )
        return checked(value, receipt)


def _item_of(failure: Failure) -> int | None:
    """The item of a list that a failure is about; None when it is about the whole."""
    head = failure.pointer[1:].partition("/")[0]
    return int(head) if failure.pointer and head.isdigit() else None
