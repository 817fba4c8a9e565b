"""Formatting files: each whole, each on its own. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mklang.diagnostics import Diagnostic
from mklang.errors import HostError
from mklang.host.inspection import machine_files
from mklang.host.rewriting import difference, write_back
from mklang.lang.files import read_source
from mklang.lang.format import format_source
from mklang.source import Source


@dataclass(frozen=True, slots=True)
class Done:
    """One file: its text before and after, None for one that cannot be formatted; the problems say why."""

    path: str
    source: Source | None = None
    text: str | None = None
    problems: tuple[Diagnostic, ...] = ()

    @property
    def status(self) -> str:
        """``error``, ``changed`` or ``unchanged``."""
        if self.source is None or self.text is None:
            return "error"
        return "unchanged" if self.text == self.source.text else "changed"

    @property
    def diff(self) -> list[str]:
        """What changes, line by line."""
        if self.source is None or self.text is None:
            return []
        return list(difference(self.path, self.source.text, self.text))


def format_files(files: Iterable[str], *, dry: bool) -> Iterator[Done]:
    """Every file, and every machine in a directory, formatted and written unless ``dry``."""
    for one in _format(files):
        yield _settle(one, dry=dry)


def _format(files: Iterable[str]) -> Iterator[Done]:
    for path in dict.fromkeys(machine_files(files)):
        if isinstance(path, Diagnostic):
            yield Done(path.path, problems=(path,))
            continue
        source, problems = read_source(path)
        if source is None:
            yield Done(path, problems=problems)
            continue
        formatted = format_source(source)
        yield Done(path, source, formatted.text, formatted.problems)


def _settle(one: Done, *, dry: bool) -> Done:
    """Write what changed, unless nothing is to be written; a file that cannot be is an error like any other."""
    if dry or one.status != "changed" or one.source is None or one.text is None:
        return one
    try:
        write_back(one.path, one.source, one.text)
    except HostError as error:
        message = str(error).removeprefix(f"{one.path}: ")
        return Done(one.path, problems=(Diagnostic(code="file-unreadable", message=message, path=one.path),))
    return one
