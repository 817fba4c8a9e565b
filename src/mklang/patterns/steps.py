"""The journal of an orchestrator: JSON lines, on disk before the next thing happens, read again after a crash."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import msgspec

from mklang.errors import RunStoreError
from mklang.guards.checked import Receipt


class Began(msgspec.Struct, frozen=True, kw_only=True, tag="began", tag_field="type"):
    """The first record: what this is the journal of."""

    orchestrator: str
    identity: str


class Tried(msgspec.Struct, frozen=True, kw_only=True, tag="tried", tag_field="type"):
    """The worker is about to be asked, for the ``attempt``-th time."""

    step: str
    attempt: int


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused", tag_field="type"):
    """An attempt that gave nothing that passed."""

    step: str
    attempt: int
    why: str


class Passed(msgspec.Struct, frozen=True, kw_only=True, tag="passed", tag_field="type"):
    """What the worker gave and the guard let pass, as canonical text."""

    step: str
    text: str
    receipt: Receipt


class Intended(msgspec.Struct, frozen=True, kw_only=True, tag="intended", tag_field="type"):
    """The effect is about to happen. Without a later ``Ended``, nobody knows whether it did."""

    step: str
    key: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended", tag_field="type"):
    """A step is over: ``done``, or ``failed`` and why."""

    step: str
    status: str
    why: str = ""


class Settled(msgspec.Struct, frozen=True, kw_only=True, tag="settled", tag_field="type"):
    """A person said what became of an effect of unknown outcome; one that did not happen is to be done again."""

    step: str
    happened: bool


Entry: TypeAlias = Began | Tried | Refused | Passed | Intended | Ended | Settled
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


class StepJournal:
    """One file, locked while it is open, readable by its owner alone. A torn last line is cut off when it is opened."""

    def __init__(self, path: str | os.PathLike[str], first: Began) -> None:
        """Raises ``RunStoreError`` when somebody else has it open, it is another's journal, or a line is no record."""
        self.path = Path(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._handle = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise RunStoreError(f"{self.path}: cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise RunStoreError(f"{self.path}: another process goes on with this") from None
        try:
            self.entries = list(self._read())
            if not self.entries:
                self.write(first)
            elif self.entries[0] != first:
                raise RunStoreError(f"{self.path}: the journal of something else: {self.entries[0]}")
        except BaseException:
            self.close()
            raise

    def _read(self) -> Iterator[Entry]:
        with self.path.open("rb") as file:
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._handle, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                yield _decode(line)
            except msgspec.MsgspecError as error:
                raise RunStoreError(f"{self.path}:{number}: no record of a journal: {error}") from error

    def write(self, entry: Entry) -> None:
        """Append a record; it is on disk when this returns."""
        data = _encode(entry) + b"\n"
        while data:
            data = data[os.write(self._handle, data) :]
        os.fsync(self._handle)
        self.entries.append(entry)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> StepJournal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Standing(msgspec.Struct, kw_only=True):
    """What a journal says about one step."""

    attempts: int = 0
    passed: Passed | None = None
    intended: bool = False
    ended: Ended | None = None


def standing_of(entries: list[Entry]) -> dict[str, Standing]:
    """How far each step has got."""
    steps: dict[str, Standing] = {}
    for entry in entries:
        if isinstance(entry, Began):
            continue
        standing = steps.setdefault(entry.step, Standing())
        match entry:
            case Tried():
                standing.attempts = entry.attempt
            case Passed():
                standing.passed = entry
            case Intended():
                standing.intended = True
            case Ended():
                standing.ended = entry
            case Settled(happened=True):
                standing.ended = Ended(step=entry.step, status="done")
            case Settled():
                standing.intended = False
            case Refused():
                pass
    return steps
