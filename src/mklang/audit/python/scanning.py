"""The facts of files, made when somebody asks for them: from the cache or anew, in processes if it pays.

What every audit needs of a file is its header, which is made for all of them. The facts of its functions are made for
the files that a name leads to, which are few where few files have to do with a model.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mklang.audit.python.files import SourceFile
from mklang.audit.python.ir import FileFacts, Header, decode, encode
from mklang.audit.python.models import Models, library_texts
from mklang.audit.python.options import AuditOptions

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_MANY = 40
_LARGEST = 2_000_000
_DEEP = 4000
"""How deep calls go when a file is read: a thousand branches of one ``elif`` chain are nested in its tree."""
_UNSETTLED = 2_000_000_000
"""A file that changed less than this many nanoseconds before the cache was written may have changed again unseen."""


class Kept(msgspec.Struct, array_like=True, gc=False):
    """What is known of a file: when it was looked at (``stamp``), the hash of its text, its header, and its facts if
    they were asked for. Facts depend on the project through ``ours``, those of their ``roots`` that belong to it."""

    header: Header
    digest: bytes = b""
    stamp: tuple[int, int, int, int] = (0, 0, 0, 0)
    facts: bytes = b""
    roots: list[str] = []
    ours: list[str] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Kept]).decode


class Files:
    """The files of an audit. ``store`` is where facts are kept between audits, if anywhere."""

    def __init__(self, files: Sequence[SourceFile], options: AuditOptions, store: Path | None = None) -> None:
        self._files = files
        self._options = options
        self._store = store
        self._project = frozenset(one.module.partition(".")[0] for one in files)
        self._pool: ProcessPoolExecutor | None = None
        self._salt = _salt(options)
        known, written = _read_store(store, self._salt)
        self._changed = self._closed = False
        self._gone = known
        self._kept = self._look(known, written)
        self.headers = [one.header for one in self._kept]

    def _look(self, known: dict[str, Kept], written: int) -> list[Kept]:
        """The header of every file, from the cache where the file is as it was."""
        found: list[Kept | None] = []
        stamps = [_stamp(one.path) for one in self._files]
        for one, stamp in zip(self._files, stamps, strict=True):
            held = known.pop(one.shown, None)
            found.append(self._same(one, held, stamp, written) if held is not None else None)
        missing = [number for number, held in enumerate(found) if held is None]
        self.cached = len(found) - len(missing)
        for number, made in zip(missing, self._make(missing, facts=False), strict=True):
            made.stamp = stamps[number]
            found[number] = made
            self._changed = True
        return [one for one in found if one is not None]

    def _same(self, one: SourceFile, held: Kept, stamp: tuple[int, int, int, int], written: int) -> Kept | None:
        if held.header.module != one.module or (held.facts and not self._fits(held)):
            return None
        if held.stamp == stamp and max(stamp[:2]) + _UNSETTLED < written:
            return held
        if _digest(_read(one.path)) != held.digest:
            return None
        if held.stamp != stamp:
            held.stamp = stamp
            self._changed = True
        return held

    def facts(self, numbers: Iterable[int]) -> list[FileFacts]:
        """The facts of some files, in this order; files that cannot be read have none."""
        asked = [number for number in numbers if not self._kept[number].header.problem]
        missing = [number for number in asked if not self._fits(self._kept[number])]
        for number, made in zip(missing, self._make(missing, facts=True), strict=True):
            made.stamp = self._kept[number].stamp
            self._kept[number] = made
            self.headers[number] = made.header
            self._changed = True
        return [decode(held.facts) for held in (self._kept[number] for number in asked) if held.facts]

    def _fits(self, held: Kept) -> bool:
        return bool(held.facts) and held.ours == [root for root in held.roots if root in self._project]

    def _make(self, numbers: Sequence[int], *, facts: bool) -> Iterator[Kept]:
        files = [self._files[number] for number in numbers]
        workers = min(os.cpu_count() or 1, 8)
        if len(files) < _MANY or workers < 2 or self._closed:
            yield from _decode(_make_some(files, self._options, self._project, facts))
            return
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor  # an audit of unchanged files has no use for it

            self._pool = ProcessPoolExecutor(workers)
        size = max(8, len(files) // (workers * 8))
        parts = [files[start : start + size] for start in range(0, len(files), size)]
        same = ([value] * len(parts) for value in (self._options, self._project, facts))
        for made in self._pool.map(_make_some, parts, *same):
            yield from _decode(made)

    def close(self) -> None:
        """End the processes, and keep what was made; facts that are asked for later are made here and not kept."""
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown()
        if self._store is not None and (self._changed or self._gone):
            _write_store(self._store, self._salt, {one.header.path: one for one in self._kept})


def _stamp(path: str) -> tuple[int, int, int, int]:
    try:
        told = os.stat(path)  # noqa: PTH116 - a thousand files: Path.stat costs as much again
    except OSError:
        return (0, 0, 0, 0)
    return (told.st_mtime_ns, told.st_ctime_ns, told.st_size, told.st_ino)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read(_LARGEST + 1)
    except OSError:
        return b"\x00"


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).digest()


def _make_some(files: list[SourceFile], options: AuditOptions, project: frozenset[str], facts: bool) -> bytes:
    """What is known of files anew: the header, and the facts if they were asked for or surely will be."""
    models = _rules(msgspec.json.encode(options))
    collecting, deep = gc.isenabled(), sys.getrecursionlimit()
    gc.disable()  # trees are large and freed by counting; looking for cycles in them doubles the time
    sys.setrecursionlimit(max(deep, _DEEP))
    try:
        return _encode([_make_one(one, models, project, facts) for one in files])
    finally:
        sys.setrecursionlimit(deep)
        if collecting:
            gc.enable()


@cache
def _rules(told: bytes) -> Models:
    return msgspec.json.decode(told, type=AuditOptions).rules()


def _make_one(one: SourceFile, models: Models, project: frozenset[str], facts: bool) -> Kept:
    from mklang.audit.python.lowering import Text, lower, read  # as above

    data = _read(one.path)
    if len(data) > _LARGEST:
        return Kept(Header(one.module, one.shown, problem="too large to look at"), _digest(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    told = read(text, module=one.module, path=one.shown, models=models)
    if not isinstance(told, Text):
        return Kept(told, _digest(data))
    made = Kept(told.header, _digest(data))
    if facts or told.header.asks:
        lowered = lower(told, models=models, project=project)
        if isinstance(lowered, str):
            made.header.problem = lowered
        else:
            made.header.asks = any(one.asks_a_model() for one in lowered.functions)
            made.facts, made.roots = encode(lowered), lowered.roots
            made.ours = [root for root in lowered.roots if root in project]
    return made


# -- the cache --------------------------------------------------------------------------------------------------------


class _Store(msgspec.Struct, array_like=True):
    salt: bytes
    files: dict[str, Kept]


def _salt(options: AuditOptions) -> bytes:
    """Everything that all facts depend on: this code, the models, the options."""
    digest = blake2b(msgspec.json.encode(options), digest_size=16)
    for path in (*sorted(Path(__file__).parent.glob("*.py")), *map(Path, options.models)):
        digest.update(_read(str(path)))
    for name, text in library_texts().items():
        digest.update(f"{name}\n{text}".encode())
    return digest.digest()


def _read_store(store: Path | None, salt: bytes) -> tuple[dict[str, Kept], int]:
    """What was kept, and when."""
    if store is None:
        return {}, 0
    try:
        written = store.stat().st_mtime_ns
        held = msgspec.msgpack.decode(store.read_bytes(), type=_Store)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}, 0
    return (held.files, written) if held.salt == salt else ({}, 0)


def _write_store(store: Path, salt: bytes, files: dict[str, Kept]) -> None:
    """A cache: if it cannot be written, the next run is slower and nothing else."""
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        temporary = store.with_name(f"{store.name}.{os.getpid()}")
        temporary.write_bytes(_encode(_Store(salt, files)))
        temporary.replace(store)
    except OSError:
        pass
