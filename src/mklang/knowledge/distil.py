"""Distilling: layer 2 computed from layer 1 in two stages, free reasoning and then form (S48).

Pattern 4 outside, pattern 2 before the model, pattern 1 behind each stage. The run's name is decided by what goes in,
so that the same run again changes nothing; what came out is on record, so that layer 2 can be computed again without
a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from mklang.errors import UsageError
from mklang.guards import Checked, Guard, canonical
from mklang.knowledge.echo import Echo
from mklang.knowledge.files import make_folder, read_plain
from mklang.knowledge.home import Home, seconds_stamp, utc
from mklang.knowledge.log import REPAIR, EpisodeLog
from mklang.knowledge.operations import Basis
from mklang.knowledge.reading import START, Cursor, Defect, Located, read_log
from mklang.knowledge.record import RESERVED, Origin, Record
from mklang.knowledge.schemas import prose_guard
from mklang.knowledge.store import KnowledgeStore
from mklang.lang.values import Json
from mklang.patterns import Conformance, Filter, Limits, Orchestrator, Selection, Status, Task
from mklang.patterns.orchestrator import Worker

DISTILLED = "distilled"
"""The type of the record of a distillation in layer 1: with it, layer 2 can be computed again."""
BOOKKEEPING = frozenset({REPAIR, DISTILLED, "knowledge_act", "knowledge_adopted", "decision"})
"""Types of records by which the cycle keeps its own books; never experience."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which records a distillation is about: behind a place in the log (None: behind the last distillation), or of the
    last ``days`` UTC days, today included. ``generated`` lets in what models wrote; by default nothing of it (I4)."""

    start: Cursor | None = None
    days: int | None = None
    types: frozenset[str] = frozenset()
    items: int = 500
    bytes: int = 200_000
    generated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A machine at work: the worker that runs it, and what the machine means (its semantic hash)."""

    worker: Worker
    identity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is selected, where the next distillation begins, and the lines that were no records."""

    selection: Selection
    upto: Cursor
    defects: tuple[Defect, ...]


class Ended(Enum):
    """How a distillation ended."""

    DONE = "done"
    NOTHING = "nothing-to-do"
    BEFORE = "done-before"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """A distillation: its name, what was chosen, how many patterns are new. ``stage`` is the one that broke;
    ``refused`` says which patterns were left out, where the guard may do that."""

    status: Ended
    chosen: Chosen
    run: str = ""
    added: int = 0
    found: int = 0
    stage: str = ""
    why: str = ""
    refused: tuple[str, ...] = ()

    @classmethod
    def nothing(cls, chosen: Chosen) -> Distillation:
        """The one in which nothing was chosen."""
        return cls(status=Ended.NOTHING, chosen=chosen)


def choose(home: Home, choice: Choice, store: KnowledgeStore, *, today: str = "", rules: str = "") -> Chosen:
    """Select records, reading line by line; no model is near. ``today`` is the UTC day that ``days`` counts back from,
    ``rules`` the texts that are loaded now: what repeats them is no experience either."""
    reader = _Reader(home, choice, store, today)
    echo = Echo([*(one.pattern for one in store.patterns), *rules.splitlines()])
    selection = selecting(choice, echo).select(reader)
    upto = reader.last
    if selection.manifest.cut:
        upto = _cursor(selection.records[-1]["at"]) if selection else reader.first
    return Chosen(selection=selection, upto=upto, defects=tuple(reader.defects))


def selecting(choice: Choice, echo: Echo) -> Filter:
    """The filter of a distillation."""
    return Filter(
        name="experience",
        where={
            "the cycle's own books": lambda record: record.get("type") not in BOOKKEEPING,
            "generated": lambda record: (
                choice.generated or _data(record).get(RESERVED, {}).get("origin") != "generated"
            ),
            "own words coming back": lambda record: choice.generated or not echo.hears(_data(record)),
        },
        types=choice.types,
        items=choice.items,
        bytes=choice.bytes,
    )


class _Reader:
    """The log as records for a filter; remembers how far it was read and what was no record."""

    def __init__(self, home: Home, choice: Choice, store: KnowledgeStore, today: str) -> None:
        self._folder = home.logs
        self.first = self.last = choice.start or (store.state.upto if choice.days is None else START)
        self._since = _days_back(today, choice.days) if choice.days is not None else ""
        self.defects: list[Defect] = []

    def __iter__(self) -> Iterator[Mapping[str, Json]]:
        for found in read_log(self._folder, since=self._since, start=self.first, numbered=False):
            if isinstance(found, Defect):
                if not found.torn and len(self.defects) < 100:
                    self.defects.append(found)
                continue
            self.last = found.after
            at = f"{found.after.day}@{found.after.offset}"
            yield {"id": found.id, "at": at, **_fields(found.record)}


def _fields(record: Record) -> dict[str, Any]:
    return {"ts": record.ts, "type": record.type, "data": record.data}


def _data(record: Mapping[str, Json]) -> dict[str, Any]:
    data = record.get("data")
    return data if isinstance(data, dict) else {}


def _cursor(at: Json) -> Cursor:
    day, _, offset = str(at).partition("@")
    return Cursor(day, int(offset))


def _days_back(today: str, days: int) -> str:
    return (date.fromisoformat(today) - timedelta(days=max(0, days - 1))).isoformat()


def episode_lines(selection: Selection) -> str:
    """What a model gets to see of a selection: a JSON object a line, without the cycle's own marks."""
    lines = []
    for record in selection.records:
        data = {key: value for key, value in _data(record).items() if key != RESERVED}
        shown: dict[str, Any] = {"id": record["id"], "ts": record["ts"], "type": record["type"], "data": data}
        lines.append(msgspec.json.encode(shown).decode())
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distiller:
    """The pipeline, put together once: two stages, their guards, limits in code, a journal for each run. ``render``
    makes the text that the first stage is given. A stage that has used up its tries is not asked again, unless
    ``again_failed``: then it begins anew, and what it gave before is kept beside."""

    home: Home
    store: KnowledgeStore
    log: EpisodeLog
    reflect: Stage
    format: Stage
    model: str
    prose: Guard = field(default_factory=prose_guard)
    attempts: int = 3
    seconds: float = 900.0
    render: Callable[[Selection], str] = episode_lines
    again_failed: bool = False

    def run_id(self, selection: Selection) -> str:
        """A run's name: decided by the records, the machines, the guards and the model."""
        meant = [
            selection.manifest.ids_sha,
            self.reflect.identity,
            self.format.identity,
            self.prose.sha,
            self.store.guard.sha,
            self.model,
        ]
        return sha256(canonical(meant)).hexdigest()[:16]

    async def run(self, chosen: Chosen) -> Distillation:
        """Distil what was chosen, going on where an earlier attempt at the same run ended. Nothing chosen: no model is
        asked. Raises ``Sealed`` before a model is asked when nothing could be kept."""
        selection = chosen.selection
        if not selection:
            return Distillation.nothing(chosen)
        self.store.require_open()
        run = self.run_id(selection)
        folder = self.home.runs / run
        if run in self.store.state.runs and not (folder / "format.jsonl").exists():
            return Distillation(status=Ended.BEFORE, chosen=chosen, run=run)
        known = run in self.store.state.runs
        make_folder(self.home.runs)
        make_folder(folder)
        prose = await self._stage("reflect", folder, {"episodes": self.render(selection)})
        if not isinstance(prose, Checked):
            return Distillation(status=Ended.FAILED, chosen=chosen, run=run, stage="reflect", why=prose)
        return await self._form(chosen, run, prose, known=known)

    async def again(self, run: str) -> Distillation:
        """Give the stored prose of a run its form anew, with the second stage as it is now; the first is not asked
        again. What is found belongs to a run of its own, and to the same records. Raises ``UsageError``."""
        old = self.store.state.runs.get(run)
        if old is None:
            raise UsageError(f"there is no run '{run}'; 'mklang akc where PATTERN' shows those of a pattern")
        self.store.require_open()
        basis = old.basis
        meant = [run, self.format.identity, self.store.guard.sha]
        name = sha256(canonical(meant)).hexdigest()[:16]
        chosen = Chosen(selection=Selection((), basis.manifest), upto=basis.upto, defects=())
        if name in self.store.state.runs:
            return Distillation(status=Ended.BEFORE, chosen=chosen, run=name)
        make_folder(self.home.runs)
        make_folder(self.home.runs / name)
        before = len(self.store.patterns)

        def keep(_task: Task, found: Checked[Any], _key: str) -> None:
            reply, at = found.content().decode(), seconds_stamp(utc(self.store.now()))
            machines = {**basis.machines, "format": self.format.identity}
            self._keep(msgspec.structs.replace(basis, run=name, at=at, reply=reply, machines=machines))

        found = await self._stage("format", self.home.runs / name, {"reflection": basis.prose}, effect=keep)
        if not isinstance(found, Checked):
            return Distillation(status=Ended.FAILED, chosen=chosen, run=name, stage="format", why=found)
        self.store.export()
        added = max(0, len(self.store.patterns) - before)
        refused = tuple(map(str, found.receipt.refused))
        count = len(found.value)
        return Distillation(status=Ended.DONE, chosen=chosen, run=name, added=added, found=count, refused=refused)

    async def _form(self, chosen: Chosen, run: str, prose: Checked[str], *, known: bool) -> Distillation:
        before = len(self.store.patterns)

        def keep(_task: Task, found: Checked[Any], _key: str) -> None:
            self._keep(self._basis(chosen, run, prose, found))

        found = await self._stage("format", self.home.runs / run, {"reflection": prose.value}, effect=keep)
        if not isinstance(found, Checked):
            return Distillation(status=Ended.FAILED, chosen=chosen, run=run, stage="format", why=found)
        self.store.export()
        return Distillation(
            status=Ended.BEFORE if known else Ended.DONE,
            chosen=chosen,
            run=run,
            added=max(0, len(self.store.patterns) - before),
            found=len(found.value),
            refused=tuple(map(str, found.receipt.refused)),
        )

    async def _stage(
        self, name: str, folder: Path, inputs: Mapping[str, Json], effect: Any = None
    ) -> Checked[Any] | str:
        """One stage under its orchestrator: what passed the guard, or why nothing did."""
        stage = self.reflect if name == "reflect" else self.format
        orchestrator = self._orchestrator(name, stage, effect)
        if self.again_failed:
            set_failure_aside(folder / f"{name}.jsonl")
        report = await orchestrator.run([Task(name, inputs)], str(folder / f"{name}.jsonl"))
        if not report.steps:
            return f"more than {self.seconds:g} s"
        step = report.steps[0]
        if step.status is Status.DONE and step.result is not None:
            return step.result
        return step.why or "the journal's result no longer passes the guard"

    def _orchestrator(self, name: str, stage: Stage, effect: Any = None) -> Orchestrator:
        return Orchestrator(
            name=f"akc-{name}",
            worker=stage.worker,
            guard=self.prose if name == "reflect" else self.store.guard,
            limits=Limits(steps=1, attempts=self.attempts, seconds=self.seconds),
            effect=effect,
            repeatable=True,
            filter=selecting(Choice(), Echo(())),
        )

    def _basis(self, chosen: Chosen, run: str, prose: Checked[str], found: Checked[Any]) -> Basis:
        selection = chosen.selection
        marks = [_data(record).get(RESERVED, {}) for record in selection.records]
        origins = Counter(mark.get("origin", Origin.UNKNOWN.value) for mark in marks)
        sessions = {str(mark["session"]) for mark in marks if "session" in mark}
        return Basis(
            run=run,
            at=seconds_stamp(utc(self.store.now())),
            manifest=selection.manifest,
            episodes=tuple(str(record["id"]) for record in selection.records),
            sessions=tuple(sorted(sessions)),
            share=dict(sorted(origins.items())),
            upto=chosen.upto,
            machines={"reflect": self.reflect.identity, "format": self.format.identity},
            model=self.model,
            prose=prose.value,
            reply=found.content().decode(),
        )

    def _keep(self, basis: Basis) -> None:
        """Write into layer 1 what it takes to find this again, then keep it. Doing it twice is as doing it once: what
        stands in layer 1 already is what counts."""
        written = self._written(basis)
        if written is None:
            data = {"basis": msgspec.json.decode(msgspec.json.encode(basis))}
            self.log.append_generated(DISTILLED, data, run=basis.run)
        basis = written or basis
        self.store.keep(self.store.guard.check(basis.reply), basis)

    def _written(self, basis: Basis) -> Basis | None:
        """The basis of this run that an attempt which broke off has left in layer 1, behind the run's own records."""
        for found in read_log(self.home.logs, start=basis.upto, numbered=False):
            if (
                isinstance(found, Located)
                and found.record.type == DISTILLED
                and found.record.mark.get("run") == basis.run
            ):
                return msgspec.convert(found.record.data.get("basis"), Basis)
        return None

    def conformance(self) -> tuple[Conformance, ...]:
        """What a review asks of each stage."""
        return tuple(
            self._orchestrator(name, stage).conformance()
            for name, stage in (("reflect", self.reflect), ("format", self.format))
        )


def set_failure_aside(journal: Path) -> None:
    """Let a stage whose journal ends in a failure begin anew; the journal is kept under another name."""
    lines = (read_plain(journal) or b"").splitlines()
    if lines and b'"type":"ended"' in lines[-1] and b'"status":"failed"' in lines[-1]:
        number = sum(1 for _ in journal.parent.glob(f"{journal.stem}.failed-*"))
        journal.rename(journal.with_name(f"{journal.stem}.failed-{number + 1}.jsonl"))
