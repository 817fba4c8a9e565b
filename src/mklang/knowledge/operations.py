"""The operations on layer 2: the truth that ``knowledge.json`` is computed from, one JSON line each.

A line is one operation, whole or torn and then nothing. What was once distilled, adopted or decided is never changed
afterwards; a later line says what became of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from mklang.guards import Receipt
from mklang.knowledge.home import parse_time, seconds_stamp
from mklang.knowledge.patterns import DEFAULT_CATEGORY, DEFAULT_IMPORTANCE, UNKNOWN, Pattern, pattern_id
from mklang.knowledge.reading import START, Cursor
from mklang.patterns.filters import Manifest


class Act(Enum):
    """What a person may do to a pattern or to a source."""

    RETIRE = "retire"
    """It is no longer needed."""
    REFUTE = "refute"
    """It is wrong."""
    QUARANTINE = "quarantine"
    """It must not be read."""
    REVOKE = "revoke"
    """Its source is not to be trusted: everything that was distilled from it goes."""
    TOUCH = "touch"
    """It was used."""


class Found(msgspec.Struct, frozen=True):
    """A pattern as the second stage gave it."""

    pattern: str
    importance: float
    category: str


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a distillation was computed from: enough to do it again without a model (I2, I3)."""

    run: str
    at: str
    manifest: Manifest
    episodes: tuple[str, ...]
    sessions: tuple[str, ...]
    share: dict[str, int]
    upto: Cursor
    machines: dict[str, str]
    model: str
    prose: str
    reply: str


class Distilled(msgspec.Struct, frozen=True, kw_only=True, tag="distilled", tag_field="op"):
    """A distillation: what was found, on which basis, by which guard."""

    basis: Basis
    receipt: Receipt
    found: tuple[Found, ...]


class Adopted(msgspec.Struct, frozen=True, kw_only=True, tag="adopted", tag_field="op"):
    """Patterns of a ``knowledge.json`` that somebody else wrote."""

    at: str
    receipt: Receipt
    items: tuple[dict[str, Any], ...]


class Acted(msgspec.Struct, frozen=True, kw_only=True, tag="acted", tag_field="op"):
    """Something a person did. ``subject`` is a pattern; for ``REVOKE`` a run, an episode, a session or a pattern."""

    act: Act
    subject: str
    at: str
    by: str
    why: str


class Exported(msgspec.Struct, frozen=True, kw_only=True, tag="exported", tag_field="op"):
    """``knowledge.json`` was written; the SHA-256 of its bytes."""

    sha: str


Operation: TypeAlias = Distilled | Adopted | Acted | Exported
decode_operation = msgspec.json.Decoder(Operation).decode
encode_operation = msgspec.json.Encoder().encode


class State:
    """What the operations so far amount to."""

    def __init__(self) -> None:
        self.patterns: dict[str, Pattern] = {}
        self.runs: dict[str, Distilled] = {}
        self.acts: list[Acted] = []
        self.upto: Cursor = START
        self.exported: str | None = None
        self.revoked: set[str] = set()
        self.adopted: set[str] = set()
        self._lineage: dict[str, list[Distilled]] = {}

    def apply(self, operation: Operation) -> None:
        """Go on by one operation. One that is there already changes nothing."""
        match operation:
            case Distilled():
                self._distil(operation)
            case Adopted():
                self.adopted.add(operation.receipt.out_sha)
                for item in operation.items:
                    self._keep(_adopted(item))
            case Acted():
                self._act(operation)
            case Exported():
                self.exported = operation.sha

    def apply_all(self, operations: Iterable[Operation]) -> State:
        """Go on by several; returns itself."""
        for operation in operations:
            self.apply(operation)
        return self

    def lineage(self, pattern: str) -> list[Distilled]:
        """The distillations that found a pattern, also one that is gone."""
        return list(self._lineage.get(pattern, ()))

    def reached_by(self, source: str) -> list[str]:
        """The patterns that a run, an episode, a session or a pattern's own name leads to, also those that are gone."""
        runs = [one for one in self.runs.values() if _comes_from(one.basis, source)]
        reached = {pattern_id(found.pattern): None for one in runs for found in one.found}
        return [*reached] if reached else [source] if source in self._lineage or source in self.patterns else []

    def _distil(self, operation: Distilled) -> None:
        basis = operation.basis
        if basis.run in self.runs:
            return
        self.runs[basis.run] = operation
        self.upto = max(self.upto, basis.upto)
        for found in operation.found:
            self._lineage.setdefault(pattern_id(found.pattern), []).append(operation)
            if not any(_comes_from(basis, source) for source in self.revoked):
                self._keep(_distilled(found, basis))

    def _keep(self, new: Pattern) -> None:
        old = self.patterns.get(new.id)
        if old is None:
            self.patterns[new.id] = new
            return
        self.patterns[new.id] = msgspec.structs.replace(
            old,
            distilled=max(old.distilled, new.distilled)
            if UNKNOWN not in (old.distilled, new.distilled)
            else new.distilled,
            importance=max(old.importance, new.importance),
            count=old.count + 1,
            runs=(*old.runs, *new.runs),
            share={key: old.share.get(key, 0) + new.share.get(key, 0) for key in {**old.share, **new.share}},
        )

    def _act(self, operation: Acted) -> None:
        self.acts.append(operation)
        if operation.act is Act.TOUCH:
            if operation.subject in self.patterns:
                touched = self.patterns[operation.subject]
                self.patterns[touched.id] = msgspec.structs.replace(touched, last_accessed=operation.at)
        elif operation.act is Act.REVOKE:
            self.revoked.add(operation.subject)
            for reached in self.reached_by(operation.subject):
                self._weaken(reached, operation.subject)
        else:
            self.patterns.pop(operation.subject, None)

    def _weaken(self, pattern: str, source: str) -> None:
        """Take away what came from a source; the pattern goes unless other runs found it, too."""
        kept = self.patterns.get(pattern)
        if kept is None:
            return
        gone = {one.basis.run for one in self._lineage.get(pattern, ()) if _comes_from(one.basis, source)}
        runs = tuple(run for run in kept.runs if run not in gone)
        if not runs or source == pattern:
            del self.patterns[pattern]
            return
        bases = [self.runs[run].basis for run in runs]
        share = {key: sum(basis.share.get(key, 0) for basis in bases) for basis in bases for key in basis.share}
        self.patterns[pattern] = msgspec.structs.replace(
            kept, runs=runs, count=len(runs), share=share, distilled=max(basis.at for basis in bases)
        )


def _comes_from(basis: Basis, source: str) -> bool:
    return source == basis.run or source in basis.episodes or source in basis.sessions


def _distilled(found: Found, basis: Basis) -> Pattern:
    return Pattern(
        id=pattern_id(found.pattern),
        pattern=found.pattern,
        distilled=basis.at,
        importance=float(found.importance),
        category=found.category,
        source=f"akc run {basis.run}",
        runs=(basis.run,),
        share=dict(basis.share),
    )


def _adopted(item: dict[str, Any]) -> Pattern:
    return Pattern(
        id=pattern_id(item["pattern"]),
        pattern=item["pattern"],
        distilled=_dated(item.get("distilled")) or UNKNOWN,
        importance=float(item.get("importance", DEFAULT_IMPORTANCE)),
        category=item.get("category", DEFAULT_CATEGORY),
        source=item.get("source"),
        last_accessed=_dated(item.get("last_accessed")),
    )


def _dated(text: str | None) -> str | None:
    """A time with seconds and offset, from one that may lack them; None for what is none."""
    moment = parse_time(text) if text else None
    return seconds_stamp(moment) if moment else None
