"""One run's journal: append-only JSON lines in one private file, safe against crashes, torn tails and second writers.

Line 1 says what is run; every further line is a record (see :mod:`mklang.oracles.recording`), a session or an end. A
last line without its line ending is a torn write: it is set aside when the journal is opened for writing.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.errors import RunStoreError
from mklang.lang.values import Json
from mklang.oracles.recording import Answered, Asked, Cleared, Entry, Failed, Intent

FORMAT = 1


class MachineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One machine of the run's call closure: where it was read, its text, and what it means."""

    name: str
    path: str | None
    semantic_hash: str
    states: dict[str, str]
    text: str


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin", tag_field="type"):
    """What is run. ``machines`` starts with the root. ``answered_by`` names configuration, provider, model
    and address as the person chose them, never a key. ``parent`` and ``fork_at`` say what a fork came from."""

    format: int
    run: str
    created: float
    mklang: str
    machines: tuple[MachineRecord, ...]
    inputs: dict[str, Json]
    options: RunOptions = DEFAULT_OPTIONS
    answered_by: dict[str, str] = {}
    parent: str | None = None
    fork_at: str | None = None


class Session(msgspec.Struct, frozen=True, kw_only=True, tag="session", tag_field="type"):
    """A later process took the run up again, with these policies."""

    at: float
    options: RunOptions


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end", tag_field="type"):
    """How a session ended. ``step`` is the key prefix of the state it ended in, for what is to be tried again."""

    at: float
    status: str
    error: str | None = None
    step: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int = 0


Line: TypeAlias = Begin | Session | End | Answered | Failed | Intent | Cleared | Asked
_decode = msgspec.json.Decoder(Line).decode
_encode = msgspec.json.Encoder().encode


class JournalFile:
    """A journal open for one run. Opening it for writing takes a lock that dies with the process."""

    def __init__(self, path: Path, lines: list[Line], stream: IO[bytes] | None, *, sync: bool = True) -> None:
        first = lines[0] if lines else None
        if not isinstance(first, Begin):
            raise RunStoreError(f"{path}: not a run's journal: the first line does not say what is run")
        self.path = path
        self.begin = first
        self.lines = lines
        self._sync = sync
        self._stream = stream
        self._answers: dict[str, Answered | Failed] = {}
        self._intents: set[str] = set()
        self._asked: dict[str, Asked] = {}
        self._buffer: list[bytes] = []
        self._flushed: asyncio.Future[None] | None = None
        for line in lines:
            self._index(line)
        if stream is not None:
            self._forget_failures()

    @property
    def end(self) -> End | None:
        """How the last session ended; None when it is still running or died."""
        last = self.lines[-1]
        return last if isinstance(last, End) else None

    def answered(self, key: str) -> Answered | Failed | None:
        """The record that settles a request."""
        return self._answers.get(key)

    def intended(self, key: str) -> bool:
        """Whether an effectful call was begun and neither settled nor cleared."""
        record = self._answers.get(key)
        return key in self._intents and (record is None or (isinstance(record, Failed) and record.passing))

    def asked(self, key: str) -> Asked | None:
        """When a question was first put to a person."""
        return self._asked.get(key)

    def remembers(self, key: str) -> bool:
        """Whether any record settles the request ``key`` or one below it."""
        return key in self._answers or any(known.startswith((f"{key}/", f"{key}[")) for known in self._answers)

    @property
    def questions(self) -> list[Asked]:
        """Questions to people that nobody has answered."""
        return [asked for key, asked in self._asked.items() if key not in self._answers]

    @property
    def unknown_outcomes(self) -> list[Intent]:
        """Effectful calls whose outcome was never recorded."""
        return [line for line in self.lines if isinstance(line, Intent) and self.intended(line.key)]

    async def append(self, entry: Entry, /) -> None:
        """Write a record; returns when it is on disk. Records of the same moment share one write."""
        self._take(entry)
        if self._flushed is None:
            loop = asyncio.get_running_loop()
            self._flushed = loop.create_future()
            loop.call_soon(self._flush_waiting)
        await asyncio.shield(self._flushed)

    def write(self, line: Line) -> None:
        """Write one line at once, from code that is not asynchronous."""
        self._take(line)
        self._flush()

    def close(self) -> None:
        """Write what is left and give the lock back."""
        if self._stream is not None:
            self._flush()
            self._stream.close()
            self._stream = None

    def _take(self, line: Line) -> None:
        if self._stream is None:
            raise RunStoreError(f"{self.path}: the journal is not open for writing")
        self._buffer.append(encode_line(line))
        self.lines.append(line)
        self._index(line)

    def _flush_waiting(self) -> None:
        waiting, self._flushed = self._flushed, None
        try:
            self._flush()
        except OSError as error:
            if waiting is not None and not waiting.done():
                waiting.set_exception(RunStoreError(f"{self.path}: the journal cannot be written: {error.strerror}"))
            return
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _flush(self) -> None:
        if self._stream is None or not self._buffer:
            return
        data, self._buffer = b"".join(self._buffer), []
        self._stream.write(data)  # mklang: ignore[AK102] the record of a run: what answered, as it answered
        self._stream.flush()
        if self._sync:
            os.fsync(self._stream.fileno())

    def _index(self, line: Line) -> None:
        match line:
            case Answered() | Failed():
                self._answers[line.key] = line
            case Intent():
                self._intents.add(line.key)
            case Cleared():
                self._intents.discard(line.key)
                self._answers.pop(line.key, None)
            case Asked():
                self._asked.setdefault(line.key, line)
            case Begin() | Session() | End():
                pass

    def _forget_failures(self) -> None:
        """Let the failures a session ended on be tried again; those it went on past stay as they were.

        What failed only because the run was called off, or out of time, is always tried again. An effectful call that
        failed keeps its intent: whether it changed something is for a person to say.
        """
        end = self.end
        inside = () if end is None or end.step is None else (f"{end.step}/", f"{end.step}[")
        failed = [line for line in self._answers.values() if isinstance(line, Failed)]
        for line in failed:
            if line.passing or line.key.startswith(inside):
                del self._answers[line.key]


def encode_line(line: Line) -> bytes:
    """One line of a journal, ending included. Lone surrogates, which JSON can name and UTF-8 can not, are escaped."""
    try:
        return _encode(line) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(line), ensure_ascii=True).encode() + b"\n"


def decode_line(raw: bytes) -> Line:
    """A line of a journal. Raises ``ValueError`` for what is none."""
    try:
        return _decode(raw)
    except msgspec.DecodeError:
        if b"\\ud" not in raw.lower():
            raise
        return msgspec.convert(json.loads(raw), Line)  # type: ignore[no-any-return]  # half a surrogate pair


def create_journal(path: Path, begin: Begin, *, sync: bool = True) -> JournalFile:
    """Make a new journal; the file is the owner's alone (0600) and must not exist."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        told = "something is there already, and a journal replaces nothing; name another"
        raise RunStoreError(f"{path}: {told}") from error
    except OSError as error:
        raise RunStoreError(f"{path}: the journal cannot be made: {error.strerror}") from error
    stream = os.fdopen(descriptor, "ab")
    _lock(stream, path)
    stream.write(encode_line(begin))
    stream.flush()
    if sync:
        os.fsync(stream.fileno())
        _sync_folder(path.parent)
    return JournalFile(path, [begin], stream, sync=sync)


def open_journal(path: Path, *, sync: bool = True) -> JournalFile:
    """Open a journal to go on with its run. Fails when another process has it."""
    try:
        stream = path.open("r+b")
    except OSError as error:
        raise RunStoreError(f"{path}: the journal cannot be opened: {error.strerror}") from error
    try:
        _lock(stream, path)
        data = stream.read()
        whole = data.rfind(b"\n") + 1
        journal = JournalFile(path, _lines(data[:whole], path), stream, sync=sync)
        if whole < len(data):  # only in a file that has shown to be a journal
            (path.parent / f"{path.name}.torn").write_bytes(data[whole:])
            stream.truncate(whole)
        stream.seek(0, os.SEEK_END)
        return journal
    except BaseException:
        stream.close()
        raise


def read_journal(path: Path) -> JournalFile:
    """Look at a journal without going on with it; a torn last line is passed over."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RunStoreError(f"{path}: the journal cannot be read: {error.strerror}") from error
    return JournalFile(path, _lines(data[: data.rfind(b"\n") + 1], path), None)


def is_running(path: Path) -> bool:
    """Whether some process has this run's journal open for writing."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lines(data: bytes, path: Path) -> list[Line]:
    lines: list[Line] = []
    for number, raw in enumerate(data.splitlines(), 1):
        try:
            lines.append(decode_line(raw))
        except (ValueError, RecursionError) as error:
            raise RunStoreError(f"{path}:{number}: not a journal line ({error}); the run cannot be trusted") from error
    if lines and isinstance(lines[0], Begin) and lines[0].format != FORMAT:
        raise RunStoreError(f"{path}: journal format {lines[0].format}; this version reads format {FORMAT}")
    return lines


def _lock(stream: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunStoreError(f"{path}: another process is running this run") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
