"""The decision ledger: who decided what about which bytes, row by row, each holding the hash of the one before.

A row that is changed, inserted or taken out breaks the chain. Rows cut off at the end are missed in layer 1, where the
hash of every row is kept as well. Whoever may write both files as the same user can still forge both; a signature of
the approved bytes (``signers`` in the configuration) is what holds against that.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from hashlib import sha256

import msgspec

from mklang.errors import KnowledgeError
from mklang.knowledge.files import append_lines, read_plain
from mklang.knowledge.home import Clock, Home, seconds_stamp
from mklang.knowledge.log import EpisodeLog, Sync
from mklang.knowledge.reading import Located, read_log
from mklang.knowledge.record import Origin
from mklang.lang.values import Json

DECISION = "decision"
"""The type of a ledger row's record in layer 1."""
FIRST = "0" * 64


class Event(Enum):
    """What a row says happened to a proposal."""

    PROPOSED = "proposed"
    INTENDED = "intended"
    """A person said yes and the write is about to happen; without a later row nobody knows yet whether it did."""
    APPROVED = "approved"
    ABANDONED = "abandoned"
    """The intended write did not happen; the proposal is open again."""
    REJECTED = "rejected"
    HELD = "held"
    SUPERSEDED = "superseded"
    """Its file has changed, and the same change was put up anew; ``why`` names the new proposal."""


OPEN = frozenset({Event.PROPOSED, Event.HELD, Event.ABANDONED})
"""The last events after which a proposal waits for a person."""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision. ``new_sha`` is of the bytes that were written, ``seconds`` how long they were looked at; ``full``
    whether all of the text was shown, ``edited`` whether a person changed it first. ``description`` is the hash of what
    a proposal said about itself when it was made."""

    number: int
    at: str
    event: Event
    proposal: str
    target: str
    base_sha: str
    new_sha: str
    prev: str
    description: str = ""
    actor: str = ""
    channel: str = ""
    why: str = ""
    seconds: float = 0.0
    full: bool = False
    edited: bool = False
    rules: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    signature: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Row).decode


class Ledger:
    """The rows of a home. The caller that appends holds the lock ``decisions.lock``."""

    def __init__(self, home: Home, clock: Clock) -> None:
        """Raises ``KnowledgeError`` when a row is no row or the chain is broken."""
        self._home = home
        self._clock = clock
        self.rows, self._last, problems = _read(home)
        if problems:
            raise KnowledgeError(f"{home.ledger}: {problems[0]}; 'mklang akc ledger verify' says more")

    def last_event(self, proposal: str) -> Event | None:
        """What became of a proposal; None for one that the ledger does not know."""
        return next((row.event for row in reversed(self.rows) if row.proposal == proposal), None)

    def append(self, row: Row) -> Row:
        """Write a row behind the last one; its number, time and link are filled in. It is on disk on return."""
        row = msgspec.structs.replace(
            row, number=len(self.rows) + 1, at=seconds_stamp(self._clock()), prev=self._last or FIRST
        )
        line = _encode(row)
        append_lines(self._home.ledger, line + b"\n")
        self.rows.append(row)
        self._last = sha256(line).hexdigest()
        with EpisodeLog(self._home.logs, self._clock, sync=Sync.ALWAYS) as log:
            data: dict[str, Json] = {
                "row": row.number,
                "sha": self._last,
                "event": row.event.value,
                "proposal": row.proposal,
            }
            log.append(DECISION, data, Origin.HUMAN if row.actor else Origin.OBSERVED)
        return row


def new_row(event: Event, proposal: str, *, target: str, base_sha: str, new_sha: str) -> Row:
    """A row before it has its place."""
    return Row(
        number=0, at="", event=event, proposal=proposal, target=target, base_sha=base_sha, new_sha=new_sha, prev=""
    )


def verify(home: Home) -> list[str]:
    """Everything that is wrong with a ledger: rows that are none, broken links, rows that layer 1 knows and the ledger
    does not."""
    rows, _, problems = _read(home)
    shas = {row_sha(row) for row in rows}
    for found in read_log(home.logs):
        if isinstance(found, Located) and found.record.type == DECISION:
            sha = found.record.data.get("sha")
            if sha not in shas:
                place = f"{found.file}:{found.line}"
                problems.append(f"row {found.record.data.get('row')} is missing or changed: {place} knows it otherwise")
    return problems


def row_sha(row: Row) -> str:
    """The hash by which the next row holds on to this one."""
    return sha256(_encode(row)).hexdigest()


def _read(home: Home) -> tuple[list[Row], str, list[str]]:
    data = read_plain(home.ledger) or b""
    rows: list[Row] = []
    problems: list[str] = []
    last = ""
    for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            row = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            problems.append(f"row {number} is none: {error}")
            last = sha256(line).hexdigest()
            continue
        problems += _row_problems(row, number, last or FIRST)
        if _encode(row) != line:
            problems.append(f"row {number} is not as it was written")
        rows.append(row)
        last = sha256(line).hexdigest()
    return rows, last, problems


def _row_problems(row: Row, number: int, last: str) -> Iterable[str]:
    if row.prev != last:
        yield f"row {number} does not follow the one before: that one was changed, or one was taken out or put in"
    if row.number != number:
        yield f"row {number} says that it is row {row.number}"
