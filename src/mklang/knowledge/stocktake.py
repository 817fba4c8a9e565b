"""The ledger of a stocktake, in the public reference's form: what was thought of each file, as of which change of it.

A file that has not changed since need not be looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mklang.errors import KnowledgeError
from mklang.knowledge.curating import Opinion
from mklang.knowledge.files import read_plain, replace_file
from mklang.knowledge.home import Clock, Home, parse_time, seconds_stamp, utc
from mklang.knowledge.loaded import LoadedFile


class Judged(msgspec.Struct, frozen=True):
    """What was thought of a file. ``mtime`` as its writer put it: seconds, or a time in words."""

    path: str
    verdict: str
    reason: str = ""
    mtime: float | int | str = 0


class Stocktake(msgspec.Struct, frozen=True):
    """A ledger. Other keys, such as counts, are their writer's affair and pass."""

    evaluated_at: str = ""
    skills: dict[str, Judged] = {}


def ledger_of(home: Home) -> Path:
    """Where a cycle keeps its own."""
    return home.root / "curation.json"


def read_stocktake(path: Path) -> Stocktake:
    """A ledger; an empty one when there is none. Raises ``KnowledgeError`` for a file that is none."""
    data = read_plain(path, 16 * 1024 * 1024)
    if data is None:
        return Stocktake()
    try:
        value: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
        listed: Any = next((value[key] for key in ("skills", "rules", "agents") if key in value), {})
        return msgspec.convert({"evaluated_at": value.get("evaluated_at", ""), "skills": listed}, Stocktake)
    except msgspec.MsgspecError as error:
        raise KnowledgeError(f"{path}: no ledger of a stocktake: {error}") from error


def unchanged(file: LoadedFile, project: Path, known: Stocktake) -> Judged | None:
    """What was thought of a file that has not changed since."""
    found = next((one for one in known.skills.values() if one.path.lstrip("./") == file.path), None)
    if found is None:
        return None
    then, exact = _seconds(found.mtime), not isinstance(found.mtime, str)
    apart = None if then is None else abs((project / file.path).stat().st_mtime - then)
    return found if apart is not None and apart < (0.002 if exact else 1) else None


def write_stocktake(
    home: Home, clock: Clock, files: Sequence[LoadedFile], *, opinions: Iterable[Opinion], known: Stocktake
) -> None:
    """Write the ledger anew: what was thought now, and before of files that are still there."""
    kept = {name: one for name, one in known.skills.items() if any(one.path == file.path for file in files)}
    names = {file.path: file.name or file.path for file in files}
    for one in opinions:
        if one.verdict is not None:
            mtime = (home.project / one.path).stat().st_mtime
            kept[names[one.path]] = Judged(one.path, one.verdict, one.reason, round(mtime, 3))
    made = Stocktake(seconds_stamp(utc(clock())), kept)
    replace_file(ledger_of(home), msgspec.json.format(msgspec.json.encode(made)) + b"\n")


def _seconds(mtime: float | str) -> float | None:
    if not isinstance(mtime, str):
        return float(mtime)
    moment = parse_time(mtime)
    return moment.timestamp() if moment else None
