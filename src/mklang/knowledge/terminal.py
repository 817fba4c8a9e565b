"""The terminal of a person: the one place where a decision can be taken.

A decision takes a controlling terminal, no sign of an agent in the environment, and a code that stands somewhere in the
text that was shown. A process of the same user that drives a pseudo-terminal can pass all three; against that only a
signature helps. What this stops is an agent that nods, a pipe that says yes, and a person who does not look.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TextIO

from mklang.errors import NotApproved

AGENT_VARIABLES = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CURSOR_AGENT", "GEMINI_CLI"),
    *("OPENCODE", "AIDER_MODEL", "AMP_CURRENT_THREAD_ID", "GOOSE_TERMINAL", "AI_AGENT", "AGENT", "CLINE_ACTIVE"),
    *("REPLIT_AGENT", "COPILOT_AGENT", "CI"),
)
"""Variables that coding agents and unattended runners set for the programs they start."""
_TTY = "/dev/tty"
_MAKER = object()


@dataclass(frozen=True, slots=True)
class Witness:
    """That a person sat at a terminal, saw the text and found the code in it. Only a terminal makes one."""

    actor: str
    channel: str
    seconds: float
    full: bool
    maker: object = None

    def __post_init__(self) -> None:
        if self.maker is not _MAKER:
            raise TypeError("only a terminal makes a witness")


def agent_in(environ: Mapping[str, str]) -> str | None:
    """The variable that gives an agent away, if there is one."""
    return next((name for name in AGENT_VARIABLES if environ.get(name)), None)


class Terminal:
    """The controlling terminal of this process, opened for reading and writing whatever stdin and stdout are."""

    def __init__(self, environ: Mapping[str, str], elapsed: Callable[[], float]) -> None:
        """Raises ``NotApproved`` when there is no person to be expected: no terminal, or an agent's environment."""
        agent = agent_in(environ)
        if agent is not None:
            raise NotApproved(
                f"{agent} is set, so an agent runs this: only a person decides, in a terminal of their own"
            )
        if not sys.stdin.isatty():
            raise NotApproved("standard input is no terminal: only a person decides, and nothing can be piped in")
        try:
            self._keys: TextIO = Path(_TTY).open(encoding="utf-8", errors="replace")  # noqa: SIM115 - open while this lives
            self._screen: TextIO = Path(_TTY).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115 - as above
        except OSError as error:
            raise NotApproved(f"there is no terminal to decide at: {error.strerror or error}") from error
        self.name = os.ttyname(sys.stdin.fileno())
        self._elapsed = elapsed

    def say(self, text: str = "") -> None:
        """Show lines. Whatever a terminal would obey is shown as an escape instead."""
        self._screen.write(f"{visible(text)}\n")
        self._screen.flush()

    def ask(self, prompt: str) -> str | None:
        """A line that a person typed; None when there is none (end of input)."""
        self._screen.write(visible(prompt))
        self._screen.flush()
        line = self._keys.readline()
        return line.strip() if line.endswith("\n") else None

    def elapsed(self) -> float:
        """Seconds from an arbitrary start."""
        return self._elapsed()

    def witness(self, actor: str, since: float, *, full: bool) -> Witness:
        """A witness of what was shown since a moment of ``elapsed``."""
        return Witness(actor, self.name, self._elapsed() - since, full, _MAKER)

    def close(self) -> None:
        """Let go of the terminal."""
        self._keys.close()
        self._screen.close()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def visible(text: str) -> str:
    """The text with everything that is not a printable character, a newline or a tab as an escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    number = ord(one)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def with_code(lines: list[str], nonce: str) -> tuple[list[str], str]:
    """The lines with a code beside one of them, and the code. Where it stands cannot be known before it is shown."""
    digest = sha256("\n".join([nonce, *lines]).encode("utf-8", "replace")).hexdigest()
    code = digest[:6]
    first = 2 if lines[:1] and lines[0].startswith("--- ") else 0
    places = [number for number, line in enumerate(lines) if number >= first and line.startswith(("+", "-"))]
    places = places or list(range(len(lines))) or [0]
    place = places[int(digest[6:14], 16) % len(places)]
    shown = [f"{line}   ‹code {code}›" if number == place else line for number, line in enumerate(lines or [""])]
    return shown, code
