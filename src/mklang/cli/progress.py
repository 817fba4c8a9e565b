"""What a run does while it runs, state by state, for a person at a terminal. The only module that draws with rich.

One line is alive at the bottom, for the state that runs now, and below it the end of what its model is writing; when
the state is done the line becomes a finished one above.
All text that comes from documents or models reaches rich as ``Text``, never as markup (W12).
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from mklang.cli.excerpts import cells
from mklang.cli.output import one_line
from mklang.engine.events import (
    AnyEvent,
    BranchDone,
    LlmDelta,
    LlmDone,
    LlmError,
    LlmEvent,
    LlmRetry,
    LlmStart,
    RunFinished,
    RunStart,
    StateDone,
    StateStart,
)

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_MARKS = {
    "ok": ("✓", "+", "green"),
    "repair": ("↻", "~", "yellow"),
    "escalate": ("!", "!", "magenta"),
    "fail": ("✗", "x", "red"),
}
_HALT = ("✗", "x", "red")
_NAME_WIDTH = 14
_KEPT = 2000
_CHARS_PER_TOKEN = 4


class Progress:
    """An observer of a run that draws on stderr while it is entered. ``elapsed`` is the host's clock, in seconds."""

    def __init__(self, *, color: bool, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._console = Console(
            stderr=True, color_system="auto" if color else None, markup=False, emoji=False, highlight=False
        )
        self._unicode = self._console.encoding.startswith("utf")
        self._running: StateStart | None = None
        self._inner: StateStart | None = None
        self._since = 0.0
        self._branches = 0
        self._tokens = 0
        self._pending = 0
        self._writing = Writing()
        self._live = Live(
            console=self._console,
            get_renderable=self._line,
            refresh_per_second=10,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Progress:
        self._since = self._elapsed()
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running = None
        self._live.stop()

    def __call__(self, event: AnyEvent) -> None:
        """Take note of an event of the run."""
        match event:
            case LlmStart() | LlmDelta() | LlmRetry() | LlmDone() | LlmError():
                self._writing.hear(event)
            case StateStart(depth=0):
                self._running, self._inner, self._branches = event, None, 0
                self._since = self._elapsed()
            case StateStart():
                self._inner = event
            case BranchDone(depth=0):
                self._branches += 1
                self._pending += event.usage.total
            case StateDone(depth=0):
                self._finish(event)
            case RunStart() | RunFinished() | _:
                pass

    def _finish(self, done: StateDone) -> None:
        """Turn the live line into a finished one."""
        self._tokens += done.usage.total
        self._running, self._pending, self._writing = None, 0, Writing()
        symbol, plain, colour = _MARKS.get(done.policy, _HALT)
        line = Text.assemble((f"{symbol if self._unicode else plain} ", colour))
        line.append(one_line(done.state).ljust(_NAME_WIDTH), style="bold")
        line.append(f" {self._seconds():6.1f} s {done.usage.total:6} tokens  ", style="dim")
        line.append(self._told(done))
        self._console.print(line, no_wrap=True, overflow="ellipsis")

    def _told(self, done: StateDone) -> str:
        """What was decided and where it leads."""
        if done.error is not None:
            return one_line(done.error)
        branches = f"{done.branches} branches " if done.branches is not None else ""
        policy = f"{done.policy} " if done.policy != "ok" else ""
        arrow = "→" if self._unicode else "->"
        target = f"{arrow} {one_line(done.to)} " if done.to is not None else ""
        return f"{branches}{policy}{target}({one_line(done.gate or '', 60)})"

    def _line(self) -> Text:
        """The live line, and the text that comes in below it."""
        running = self._running
        if running is None:
            return Text("")
        frames = _FRAMES if self._unicode else _PLAIN_FRAMES
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{frames[int(self._elapsed() * 10) % len(frames)]} ", style="cyan")
        line.append(one_line(running.state).ljust(_NAME_WIDTH), style="bold")
        line.append(
            f" {self._seconds():6.1f} s {self._tokens + self._pending + self._writing.tokens:6} tokens so far  ",
            style="dim",
        )
        line.append(running.kind if running.kind == "tool" else f"{running.kind}, {running.tier}")
        if self._branches:
            line.append(f", {self._branches} branches done")
        if self._inner is not None:
            line.append(f" › {one_line(self._inner.machine)}: {one_line(self._inner.state)}")
        width = max(20, self._console.width - 4)  # a typed ^C must not wrap the line
        line.truncate(width, overflow="ellipsis")
        if said := self._writing.shown(width - 2):
            line.append(f"\n  {said}", style="dim")
        return line

    def _seconds(self) -> float:
        return self._elapsed() - self._since


class Writing:
    """What models write at the moment: the end of the text that came last, and a guess at its tokens."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._chars: dict[str, int] = {}
        self._said = ""
        self._last = ""

    @property
    def tokens(self) -> int:
        """About how many tokens have come in that no answer has brought yet."""
        return sum(self._chars.values()) // _CHARS_PER_TOKEN

    def hear(self, event: LlmEvent) -> None:
        """Take note of what a model says."""
        match event:
            case LlmStart():
                self._begin(event.key, "judging" if event.operation == "judge" else "")
            case LlmDelta():
                self._add(event)
            case LlmRetry():
                why = event.status or event.cause
                self._begin(event.key, f"{why}: attempt {event.attempt + 1} in {event.pause:.0f} s, {event.model}")
            case LlmDone() | LlmError():
                self._chars.pop(event.key, None)

    def shown(self, width: int) -> str:
        """The end of the text that came last, or what is done instead, in one printable line of at most ``width``."""
        text = one_line(self._texts.get(self._last, "")[-4 * width :])
        while cells(text) > width:
            text = text[max(1, cells(text) - width) :]
        return text or self._said

    def _begin(self, key: str, said: str) -> None:
        self._texts[key], self._chars[key], self._last, self._said = "", 0, key, said

    def _add(self, event: LlmDelta) -> None:
        self._last = event.key
        if event.delta_kind == "reasoning":
            self._said = "thinking"
        elif event.operation == "produce":
            self._texts[event.key] = (self._texts.get(event.key, "") + event.delta)[-_KEPT:]
            self._chars[event.key] = self._chars.get(event.key, 0) + len(event.delta)
