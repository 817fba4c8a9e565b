"""The health of what is loaded, by code alone: references into nothing, the same said twice, what it costs to load."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mklang.guards.normal import normalised
from mklang.knowledge.files import read_plain
from mklang.knowledge.loaded import LoadedFile, Reference, references, resolve

_WORD = re.compile(r"\w+")
ALIKE = 0.8
"""From this share of common words on, two lines say the same."""
LEAST_WORDS = 5


class Sick(msgspec.Struct, frozen=True, kw_only=True):
    """Something to look at: ``dangling`` (surely leads nowhere), ``unresolved`` (may), ``said-twice``, ``name-twice``,
    ``outside``."""

    kind: str
    file: str
    line: int
    message: str


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. ``lines`` and ``characters`` are loaded by every session; ``before`` is the number of lines when
    it was last looked at, None the first time."""

    files: int
    always: int
    lines: int
    characters: int
    before: int | None
    findings: tuple[Sick, ...]


class Size(msgspec.Struct, frozen=True):
    """What every session loads, as it was the last time."""

    lines: int


def health_of(project: Path, files: Sequence[LoadedFile], last: Path) -> Health:
    """Look at the files. ``last`` is where the size of the last time stands; it may be missing."""
    always = [file for file in files if file.always]
    findings = [one for file in files for one in _leading_nowhere(project, file)]
    findings += _said_twice(files)
    findings += _named_twice(files)
    findings += [
        Sick(kind="outside", file=file.path, line=0, message="leads out of the project")
        for file in files
        if file.outside
    ]
    return Health(
        files=len(files),
        always=len(always),
        lines=sum(file.lines for file in always),
        characters=sum(len(file.text) for file in always),
        before=_before(last),
        findings=tuple(findings),
    )


def _before(last: Path) -> int | None:
    try:
        data = read_plain(last)
        return msgspec.json.decode(data, type=Size).lines if data else None
    except msgspec.MsgspecError:
        return None


def _leading_nowhere(project: Path, file: LoadedFile) -> Iterator[Sick]:
    for reference in references(file.text):
        if resolve(project, file, reference) is None and not _is_elsewhere(project, reference):
            kind = "dangling" if reference.sure else "unresolved"
            what = "module" if reference.module else "file"
            message = f"there is no {what} {reference.text}"
            yield Sick(kind=kind, file=file.path, line=reference.line, message=message)


def _is_elsewhere(project: Path, reference: Reference) -> bool:
    """Whether a module is no part of this project: ``python -m pytest``."""
    if not reference.module:
        return False
    top = reference.text.partition(".")[0]
    return not any((base / top).exists() or (base / f"{top}.py").exists() for base in (project, project / "src"))


def _said_twice(files: Sequence[LoadedFile]) -> Iterator[Sick]:
    """Lines that say what an earlier line says, by their words."""
    lines: list[tuple[str, int, frozenset[str]]] = []
    by_word: dict[str, list[int]] = defaultdict(list)
    for file in files:
        for number, text in enumerate(file.text.splitlines(), 1):
            words = frozenset(_WORD.findall(normalised(text)))
            if len(words) < LEAST_WORDS:
                continue
            near = {other for word in words for other in by_word[word][:50]}
            for other in sorted(near):
                path, line, said = lines[other]
                if len(words & said) >= ALIKE * len(words | said):
                    yield Sick(kind="said-twice", file=file.path, line=number, message=f"{path}:{line} says the same")
                    break
            for word in words:
                by_word[word].append(len(lines))
            lines.append((file.path, number, words))


def _named_twice(files: Sequence[LoadedFile]) -> Iterator[Sick]:
    seen: dict[str, str] = {}
    for file in files:
        if file.name and file.name in seen:
            message = f"{seen[file.name]} has the name '{file.name}', too"
            yield Sick(kind="name-twice", file=file.path, line=1, message=message)
        elif file.name:
            seen[file.name] = file.path
