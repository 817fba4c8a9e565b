"""Pages of the documentation, played as a reader would: files are written, commands are run, output is compared.

What a page says:

- a fenced block with ``title="name"`` is the file of that name, in a folder of the page's own;
- a ``console`` block holds commands. Where a line begins with ``$ `` only those are commands, and what stands below one
  is what it shows, a line ``…`` for any lines and ``…`` in a line for any text. ``RUN`` is the run that was kept last;
- a comment ``<!-- says {"state": "text"} judges {"state": 0} -->`` says what models and judges answer from there on. A
  list answers one visit after the other;
- ``python`` blocks are run one after the other, with the names of those before.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$|<!-- (says .*?) -->", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_NUMBERS = re.compile(r"\d+\.\d+ s\b")
_AGE = re.compile(r"\b\d+s ago\b")
_RUN = re.compile(r"\b[\w-]+-\d{8}-\d{6}-[0-9a-f]{6}\b")
TEXT_FORMAT = {"run", "resume", "runs", "machines"}
"""Commands that write JSON into a pipe; a reader sees them on a terminal."""


@dataclass(frozen=True)
class Call:
    """A command and the lines that a page shows below it; None when it shows nothing."""

    line: str
    shown: str | None = None

    @property
    def program(self) -> str:
        """The first word."""
        return self.words[0]

    @property
    def words(self) -> list[str]:
        """The command as a shell would take it apart, without its comment."""
        return shlex.split(self.line, comments=True)

    def arguments(self, run: str) -> list[str]:
        """The arguments of ``mklang``, with ``RUN`` filled in."""
        found = [run if word == "RUN" else word for word in self.words[1:]]
        return (
            [found[0], *found[1:], "--format", "text"] if found[0] in TEXT_FORMAT and "--format" not in found else found
        )


@dataclass(frozen=True)
class Block:
    """A piece of a page: ``kind`` is the language of a fenced block, or ``says``."""

    kind: str
    text: str
    title: str = ""
    calls: tuple[Call, ...] = field(default=())


def blocks(page: Path) -> Iterator[Block]:
    """The pieces of a page that can be played, in order."""
    for match in _BLOCK.finditer(page.read_text("utf-8")):
        indent, kind, head, body, says = match.groups()
        if says:
            yield Block("says", says)
            continue
        text = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        title = _TITLE.search(head)
        yield Block(kind, text, title[1] if title else "", tuple(_calls(text)) if kind == "console" else ())


def _calls(text: str) -> Iterator[Call]:
    if not text.startswith("$ "):
        yield from (Call(line) for line in text.splitlines() if line.strip() and not line.startswith("#"))
        return
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield Call(line, shown.rstrip("\n"))


def answers(says: str) -> tuple[dict[str, object], dict[str, object]]:
    """What models and judges answer, by state."""
    texts, _, verdicts = says.removeprefix("says ").partition(" judges ")
    return json.loads(texts), json.loads(verdicts or "{}")


def normal(text: str) -> str:
    """Text without what differs from run to run: seconds, names of runs, folders."""
    text = text.replace(os.getcwd(), ".")  # noqa: PTH109 - a text, not a path
    lines = [line.rstrip() for line in _RUN.sub("RUN", _AGE.sub("1s ago", _NUMBERS.sub("0.1 s", text))).splitlines()]
    return "\n".join(lines).strip("\n")


def fits(shown: str, told: str) -> bool:
    """Whether what a page shows is what a command told."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in normal(shown).splitlines()
    )
    return re.fullmatch(pattern, normal(told) + "\n" if normal(told) else "") is not None
