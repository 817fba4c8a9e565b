"""The tool ``search_kb``: full-text search over a folder of texts, kept in an SQLite index in memory (L105)."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from msgspec import Meta

from mklang.engine.options import Effect
from mklang.lang.values import Json
from mklang.tools.envelope import Payload, ToolProblem, clipped, reporting
from mklang.tools.tool import HostTool
from mklang.tools.workspace import Workspace

MAX_FACTS = 50
FACT_CHARS = 2000
SUFFIXES = frozenset({".txt", ".md", ".rst", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".html"})
MAX_FILES = 10_000
MAX_FILE_BYTES = 4_000_000
MAX_TERMS = 32

_BREAK = re.compile(r"\n\s*\n")
_WORD = re.compile(r"\w+")
_Signature = frozenset[tuple[str, int, int]]


@dataclass(frozen=True, slots=True)
class Fact:
    """A paragraph that was found, and the file and line it begins at; no file for one that is made up."""

    text: str
    path: str = ""
    line: int = 0


class KnowledgeBase(Protocol):
    """Something with facts in it. ``stub`` means that they are made up."""

    @property
    def stub(self) -> bool:
        """Whether the facts are made up."""
        ...

    def find(self, query: str, limit: int) -> list[Fact]:
        """The facts that fit best, best first. Raises ``ToolProblem``."""
        ...


@dataclass(frozen=True, slots=True)
class DemoFacts:
    """Three facts about a shop that does not exist."""

    stub: bool = True

    def find(self, _query: str, limit: int) -> list[Fact]:
        """All of them, whatever is asked."""
        return [Fact(text) for text in _DEMO[:limit]]


_DEMO = (
    "Orders can be returned within 30 days of delivery.",
    "Refunds reach the customer within five working days.",
    "Support answers from Monday to Friday, 9:00 to 17:00.",
)


@dataclass(frozen=True, slots=True)
class NoFacts:
    """An empty base, for trying a machine out."""

    stub: bool = True

    def find(self, _query: str, _limit: int) -> list[Fact]:
        """Nothing."""
        return []


class FolderBase:
    """The paragraphs of the text files in a folder; hidden names and links are left out.

    The index is built when something is first asked, and again when a file has changed.
    """

    stub = False

    def __init__(self, folder: Path) -> None:
        """``folder`` is looked at when something is asked."""
        self._space = Workspace(folder)
        self._lock = threading.Lock()
        self._index: tuple[_Signature, sqlite3.Connection] | None = None

    def find(self, query: str, limit: int) -> list[Fact]:
        """The paragraphs with the most and rarest words of the question, best first (BM25)."""
        words = _WORD.findall(query)[:MAX_TERMS]
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            rows = self._current().execute(
                "SELECT text, path, line FROM facts WHERE facts MATCH ? ORDER BY rank, path, line LIMIT ?",
                (match, limit),
            )
            return [Fact(text, path, line) for text, path, line in rows]

    def _current(self) -> sqlite3.Connection:
        files = dict(self._files("", 0))
        signature: _Signature = frozenset((path, *about) for path, about in files.items())
        if self._index is None or self._index[0] != signature:
            if self._index is not None:
                self._index[1].close()
            self._index = signature, self._built(sorted(files))
        return self._index[1]

    def _files(self, path: str, depth: int) -> Iterator[tuple[str, tuple[int, int]]]:
        """The text files below a folder, with size and time of change."""
        here = self._space.root / path
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            raise ToolProblem(f"the knowledge folder cannot be read: {error.strerror}") from None
        for entry in entries:
            inner = f"{path}/{entry.name}" if path else entry.name
            if entry.name.startswith(".") or depth > 16:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._files(inner, depth + 1)
            elif entry.is_file(follow_symlinks=False) and Path(entry.name).suffix.lower() in SUFFIXES:
                about = entry.stat(follow_symlinks=False)
                yield inner, (about.st_size, about.st_mtime_ns)

    def _built(self, paths: list[str]) -> sqlite3.Connection:
        if len(paths) > MAX_FILES:
            raise ToolProblem(f"the knowledge folder has {len(paths)} files; at most {MAX_FILES} are searched")
        index = sqlite3.connect(":memory:", check_same_thread=False)
        index.execute(
            "CREATE VIRTUAL TABLE facts USING "
            "fts5(text, path UNINDEXED, line UNINDEXED, tokenize='unicode61 remove_diacritics 2')"
        )
        index.executemany("INSERT INTO facts VALUES (?, ?, ?)", (row for path in paths for row in self._rows(path)))
        return index

    def _rows(self, path: str) -> Iterator[tuple[str, str, int]]:
        try:
            text = self._space.read(path, MAX_FILE_BYTES).data.decode("utf-8", "replace")
        except ToolProblem:  # gone since, or a name that no workspace has
            return
        for line, paragraph in _paragraphs(text):
            yield paragraph, path, line


def kb_tool(base: KnowledgeBase) -> HostTool:
    """``search_kb`` over a knowledge base."""

    def search_kb(query: str = "", q: str = "", max_results: Annotated[int, Meta(ge=1, le=MAX_FACTS)] = 10) -> Payload:
        asked = query or q
        if not asked.strip():
            raise ToolProblem("'query' is empty")
        found = base.find(asked, max_results)
        facts: list[Json] = [clipped(fact.text, FACT_CHARS) for fact in found]
        if base.stub:
            return {"query": asked, "facts": facts, "note": "these facts are made up: no knowledge base is bound"}
        sources: list[Json] = [{"path": fact.path, "line": fact.line} for fact in found]
        return {"query": asked, "facts": facts, "sources": sources, "note": "" if facts else "nothing was found"}

    return reporting(
        search_kb,
        name="search_kb",
        description="Search the knowledge base: the paragraphs that fit best, with the file and line of each.",
        effect=Effect.READ,
        stub=base.stub,
        idempotent=True,
    )


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph with the line it begins at; a long one in pieces."""
    start = 0
    for end, after in [*((found.start(), found.end()) for found in _BREAK.finditer(text)), (len(text), len(text))]:
        piece = text[start:end]
        line = text.count("\n", 0, start) + 1 + (len(piece) - len(piece.lstrip("\n")))
        body = piece.strip()
        for at in range(0, len(body), FACT_CHARS):
            yield line + body.count("\n", 0, at), body[at : at + FACT_CHARS]
        start = after
