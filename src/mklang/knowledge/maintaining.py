"""Which documents may be stale: what they refer to has been committed to since they were last touched (by commits)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mklang.errors import KnowledgeError
from mklang.knowledge.loaded import LoadedFile, references, resolve

_MARK = re.compile(r"<!-- akc sources: (?P<paths>[^@>]+?)(?: @ (?P<sha>[0-9a-f]{7,40}))? -->")


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """A document, the commits on what it is about since it was looked at, and the paths these were in."""

    file: str
    commits: int
    sources: tuple[str, ...]
    since: str


def stale_files(project: Path, files: Sequence[LoadedFile]) -> list[Stale]:
    """The documents with commits on their sources since. Sources and the commit are what the document says in
    ``<!-- akc sources: PATH, PATH @ COMMIT -->``, else the files that it refers to and its own last commit. Raises
    ``KnowledgeError`` outside of a git repository."""
    found = []
    for file in files:
        sources, since = _about(project, file)
        if not sources or not since:
            continue
        commits = int(_git(project, "rev-list", "--count", f"{since}..HEAD", "--", *sources) or "0")
        if commits:
            found.append(Stale(file=file.path, commits=commits, sources=tuple(sources), since=since[:12]))
    return sorted(found, key=lambda one: (-one.commits, one.file))


def _about(project: Path, file: LoadedFile) -> tuple[list[str], str]:
    mark = _MARK.search(file.text)
    own = _git(project, "log", "-1", "--format=%H", "--", file.path)
    if mark is not None:
        return [path.strip() for path in mark["paths"].split(",") if path.strip()], mark["sha"] or own
    found = dict.fromkeys(
        path.resolve().relative_to(project.resolve()).as_posix()
        for one in references(file.text)
        if (path := resolve(project, file, one)) is not None and path.resolve().is_relative_to(project.resolve())
    )
    return [path for path in found if path not in {file.path, "."}], own


def _git(project: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=project, capture_output=True, check=False, text=True)  # noqa: S603, S607 - git
    except OSError as error:
        raise KnowledgeError(f"git cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise KnowledgeError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
