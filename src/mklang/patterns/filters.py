"""Code → model: what a model gets is chosen by code, the same way every time, and the choice is on record (S42)."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import TypeAlias, TypeVar

import msgspec

from mklang.engine.fence import fence
from mklang.errors import UsageError
from mklang.guards.checked import canonical
from mklang.lang.values import Json
from mklang.patterns.conformance import Conformance

Record: TypeAlias = Mapping[str, Json]
Predicate: TypeAlias = Callable[[Record], bool]
T = TypeVar("T")

BYTES_PER_TOKEN = 3
"""An estimate on the safe side that knows no provider."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What went in, what came out and why the rest did not. ``cut`` counts what only a cap kept out."""

    filter: str
    came: int
    kept: int
    dropped: dict[str, int]
    cut: int
    bytes: int
    tokens_estimated: int
    ids_sha: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen records, in order, with the manifest of the choice."""

    records: tuple[Record, ...]
    manifest: Manifest

    def __bool__(self) -> bool:
        return bool(self.records)

    def render(self, nonce: str) -> str:
        """The records as JSON lines inside a fence that their text cannot close."""
        text = "\n".join(canonical(dict(record)).decode() for record in self.records)
        if len(nonce) < 8 or nonce in text:
            raise UsageError(
                "a fence needs a nonce of 8 characters or more that nobody could have written into the text"
            )
        return fence(text, nonce)


_Pair: TypeAlias = tuple[bytes, Record]


class _Room:
    """What a filter's bounds leave room for. What once did not fit ends it: nothing later slips in front."""

    def __init__(self, bounds: Filter) -> None:
        self._items = math.inf if bounds.items is None else bounds.items
        self._bytes = math.inf if bounds.bytes is None else bounds.bytes
        self.cut = 0

    def takes(self, text: bytes) -> bool:
        if self.cut or self._items < 1 or self._bytes < len(text) + 1:
            self.cut += 1
            return False
        self._items -= 1
        self._bytes -= len(text) + 1
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A selection that code makes. Equal records give an equal selection, byte for byte.

    ``where`` are named predicates on one record; the name is the reason in the manifest. ``since`` (included) and
    ``until`` (not included) compare the texts at ``time``; ``types`` the one at ``type_key``. With ``dedupe`` a record
    that says the same again is left out. ``order`` names the key to sort by; what a cap cuts is the end. One of
    ``items`` and ``bytes`` is required: without a bound, a model would be given whatever there is. Raises
    ``UsageError`` for a filter without one, and for a predicate that would have to be awaited, as a model would.
    """

    name: str
    where: Mapping[str, Predicate] = field(default_factory=lambda: MappingProxyType({}))
    since: str | None = None
    until: str | None = None
    time: str = "ts"
    types: frozenset[str] = frozenset()
    type_key: str = "type"
    dedupe: bool = False
    order: str | None = None
    items: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        if self.items is None and self.bytes is None:
            raise UsageError(f"filter '{self.name}' needs a bound: items or bytes; a whole log is no selection")
        for bound in (self.items, self.bytes):
            if bound is not None and bound < 1:
                raise UsageError(f"filter '{self.name}': a bound is 1 or more")
        for reason, predicate in self.where.items():
            if inspect.iscoroutinefunction(predicate):
                raise UsageError(f"filter '{self.name}': '{reason}' is asynchronous; a filter asks nobody")

    def why_not(self, record: Record) -> str | None:
        """The reason a record is left out on its own account; None when it is not."""
        if self.since is not None or self.until is not None:
            moment = record.get(self.time)
            if not isinstance(moment, str):
                return "no time"
            if (self.since is not None and moment < self.since) or (self.until is not None and moment >= self.until):
                return "time"
        if self.types and record.get(self.type_key) not in self.types:
            return "type"
        return next(
            (reason for reason, predicate in self.where.items() if not self._says(reason, predicate, record)), None
        )

    def _says(self, reason: str, predicate: Predicate, record: Record) -> bool:
        answer: object = predicate(record)
        if not isinstance(answer, bool):
            raise UsageError(f"filter '{self.name}': '{reason}' answered {type(answer).__name__}, not true or false")
        return answer

    def select(self, records: Iterable[Record]) -> Selection:
        """Choose. Records are not changed; the manifest counts every one of them.

        Without ``order`` no more is kept in memory than what is chosen, however many records come.
        """
        dropped: Counter[str] = Counter()
        room = _Room(self)
        kept: list[_Pair] = []
        seen: set[bytes] = set()
        came = 0
        for record in records:
            came += 1
            reason = self.why_not(record)
            text = canonical(dict(record)) if reason is None else b""
            if reason is None and self.dedupe:
                digest = sha256(text).digest()
                reason = "said before" if digest in seen else None
                seen.add(digest)
            if reason is not None:
                dropped[reason] += 1
            elif self.order is not None or room.takes(text):
                kept.append((text, record))
        if self.order is not None:
            kept.sort(key=lambda pair: (str(pair[1].get(self.order or "", "")), pair[0]))
            kept = [pair for pair in kept if room.takes(pair[0])]
        return self._selection(came, dropped, kept, cut=room.cut)

    def _selection(self, came: int, dropped: Counter[str], kept: Sequence[_Pair], *, cut: int) -> Selection:
        size = sum(len(text) + 1 for text, _ in kept)
        digest = sha256(b"\n".join(text for text, _ in kept)).hexdigest()
        manifest = Manifest(
            filter=self.name,
            came=came,
            kept=len(kept),
            dropped=dict(sorted(dropped.items())),
            cut=cut,
            bytes=size,
            tokens_estimated=math.ceil(size / BYTES_PER_TOKEN),
            ids_sha=digest,
        )
        return Selection(tuple(record for _, record in kept), manifest)

    async def then(self, records: Iterable[Record], ask: Callable[[Selection], Awaitable[T]]) -> T | None:
        """Ask about what was selected; where that is nothing, nobody is asked and there is no answer."""
        selection = self.select(records)
        return await ask(selection) if selection else None

    def recall(self, labelled: Iterable[tuple[Record, bool]]) -> tuple[int, int]:
        """On a hand-labelled sample: how many records that should get through do, and of how many; caps aside."""
        wanted = [record for record, keep in labelled if keep]
        return sum(self.why_not(record) is None for record in wanted), len(wanted)

    def conformance(self) -> Conformance:
        """What a review asks of a filter."""
        narrowing = [*(("time",) if self.since or self.until else ()), *(("type",) if self.types else ()), *self.where]
        caps = [
            f"{value} {word}" for value, word in ((self.items, "items"), (self.bytes, "bytes")) if value is not None
        ]
        facts = (
            ("selects by", ", ".join(narrowing) or "nothing but its bounds"),
            ("bound", " and ".join(caps)),
            ("deterministic", "yes: predicates of one record, in code"),
            ("nothing selected", "no model is asked"),
        )
        return Conformance("filter (code → model)", self.name, facts)
