"""From paths to facts: which files there are, and their facts, from the cache or made anew, in processes if it pays."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from mklang.audit.python.ir import FileFacts, decode, encode
from mklang.audit.python.lowering import lower
from mklang.audit.python.models import Models
from mklang.audit.python.options import AuditOptions

_SKIPPED = frozenset({"venv", "env", "node_modules", "__pycache__", "build", "dist", "site-packages"})
_MANY = 60
_LARGEST = 2_000_000


@dataclass(frozen=True)
class SourceFile:
    """A file: where it is, what it is called in findings, and its module."""

    path: str
    shown: str
    module: str


@dataclass
class Scan:
    """The facts of all files, and how many came from the cache."""

    files: list[FileFacts] = field(default_factory=list)
    cached: int = 0


def python_files(paths: Sequence[str], exclude: Iterable[str] = ()) -> list[SourceFile]:
    """The Python files of these files and folders, each once, named relative to where the command runs."""
    patterns = list(exclude)
    found: dict[str, SourceFile] = {}
    for given in paths:
        for path in _walk(given) if Path(given).is_dir() else iter((given,)):
            if path.endswith((".py", ".pyi")) and not any(Path(path).match(pattern) for pattern in patterns):
                found.setdefault(os.path.realpath(path), SourceFile(path, _shown(path), _module(path)))
    return list(found.values())


def _walk(folder: str) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        if entry.is_dir(follow_symlinks=False):
            own = entry.name[0] != "." and entry.name not in _SKIPPED and not entry.name.endswith(".egg-info")
            if own and not Path(entry.path, "pyvenv.cfg").exists():
                yield from _walk(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


def _shown(path: str) -> str:
    return path if Path(path).is_absolute() else os.path.relpath(path)


@cache
def _is_package(folder: str) -> bool:
    return Path(folder, "__init__.py").exists()


def _module(path: str) -> str:
    """The full name: up to the folder that is no package. Folders without ``__init__`` inside a package tree end it."""
    folder, name = os.path.split(os.path.realpath(path))
    parts = [] if name == "__init__.py" else [name.rpartition(".")[0]]
    while _is_package(folder):
        folder, above = os.path.split(folder)
        if not above:
            break
        parts.insert(0, above)
    return ".".join(parts) or "__init__"


def scan(files: Sequence[SourceFile], options: AuditOptions, store: Path | None, extra: Iterable[str] = ()) -> Scan:
    """The facts of files; ``store`` is where they are kept by the hash of text, models and options, if anywhere."""
    project = frozenset({one.module.partition(".")[0] for one in files} | set(extra))
    known = _read_store(store)
    said = _salt(options, project)
    result = Scan()
    kept: dict[str, tuple[bytes, bytes]] = {}
    missing: list[tuple[SourceFile, bytes]] = []
    for one in files:
        text = _read(one.path)
        digest = blake2b(text + said + one.module.encode(), digest_size=16).digest()
        held = known.get(one.shown)
        if held is not None and held[0] == digest:
            result.files.append(decode(held[1]))
            kept[one.shown] = held
        else:
            missing.append((one, digest))
    result.cached = len(result.files)
    for (one, digest), data in zip(missing, _lower_all([one for one, _ in missing], options, project), strict=True):
        kept[one.shown] = (digest, data)
        result.files.append(decode(data))
    if missing and store is not None:
        _write_store(store, known | kept)
    return result


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a thousand files: Path.open costs as much again
            return file.read(_LARGEST + 1)
    except OSError:
        return b"\x00"


def _salt(options: AuditOptions, project: frozenset[str]) -> bytes:
    """Everything else that facts depend on: this code, the models, the options, the project's packages."""
    told = msgspec.json.encode([options, sorted(project)])
    return blake2b(told + _engine(), digest_size=16).digest()


@cache
def _engine() -> bytes:
    from mklang.audit.python.models import library_texts

    digest = blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    for name, text in library_texts().items():
        digest.update(f"{name}\n{text}".encode())
    return digest.digest()


def _lower_all(files: list[SourceFile], options: AuditOptions, project: frozenset[str]) -> Iterator[bytes]:
    workers = min(os.cpu_count() or 1, 8)
    if len(files) < _MANY or workers < 2:
        return iter(_lower_some(files, options, project))
    size = max(8, len(files) // (workers * 8))
    parts = [files[start : start + size] for start in range(0, len(files), size)]
    return _in_processes(parts, options, project, workers)


def _in_processes(
    parts: list[list[SourceFile]], options: AuditOptions, project: frozenset[str], workers: int
) -> Iterator[bytes]:
    count = len(parts)
    with ProcessPoolExecutor(workers) as pool:
        for part in pool.map(_lower_some, parts, [options] * count, [project] * count):
            yield from part


@cache
def _rules(told: bytes) -> Models:
    return msgspec.json.decode(told, type=AuditOptions).rules()


def _lower_some(files: list[SourceFile], options: AuditOptions, project: frozenset[str]) -> list[bytes]:
    models = _rules(msgspec.json.encode(options))
    collecting = gc.isenabled()
    gc.disable()  # trees are large and freed by counting; looking for cycles in them doubles the time
    try:
        return [encode(_lower_one(one, models, project)) for one in files]
    finally:
        if collecting:
            gc.enable()


def _lower_one(one: SourceFile, models: Models, project: frozenset[str]) -> FileFacts:
    data = _read(one.path)
    if len(data) > _LARGEST:
        return FileFacts(one.module, one.shown, problem="too large to look at")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return lower(text, module=one.module, path=one.shown, models=models, project=project)


class _Store(msgspec.Struct, array_like=True):
    version: int
    files: dict[str, tuple[bytes, bytes]]


def _read_store(store: Path | None) -> dict[str, tuple[bytes, bytes]]:
    if store is None:
        return {}
    try:
        return msgspec.msgpack.decode(store.read_bytes(), type=_Store).files
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}


def _write_store(store: Path, files: dict[str, tuple[bytes, bytes]]) -> None:
    """A cache: if it cannot be written, the next run is slower and nothing else."""
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        temporary = store.with_name(f"{store.name}.{os.getpid()}")
        temporary.write_bytes(msgspec.msgpack.encode(_Store(1, files)))
        temporary.replace(store)
    except OSError:
        pass
