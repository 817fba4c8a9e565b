"""What commands write and how: text or JSON, with or without colour, safe on a terminal, calm when the reader leaves.

Text that a model, a tool or a document brought is data. On a terminal its control characters are made visible, and
nothing ever interprets it as markup (W12). Half a surrogate pair is written as an escape (W13).
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from mklang.diagnostics import Diagnostic

# What could move the cursor, ring, recolour or reorder: control characters but tab and newline, and bidi controls.
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"
_SURROGATE = "\ud800-\udfff"
_UNSAFE = re.compile(f"[{_CONTROL}{_SURROGATE}]")
_HALF = re.compile(f"[{_SURROGATE}]")

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def printable(text: str) -> str:
    """The text with everything a terminal would obey written as an escape; lines and tabs stay."""
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int | None = None) -> str:
    """The text as one printable line, white space squeezed, cut to ``limit`` characters with the cut marked."""
    line = printable(" ".join(text.split()))
    return line if limit is None or len(line) <= limit else f"{line[: max(0, limit - 1)]}…"


def _visible(found: re.Match[str]) -> str:
    number = ord(found.group())
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def to_json(value: object, *, terminal: bool = False) -> str:
    """JSON text, two spaces a level, non-ASCII kept; for a terminal also free of what it would obey (L108)."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=2)
    # Outside a string JSON text holds none of these but newlines, which both patterns leave alone.
    return (_UNSAFE if terminal else _HALF).sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _finite(value: object) -> object:
    """The value with numbers JSON cannot hold as text: a result that was paid for is never lost over one of them."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def envelope(
    command: str,
    *,
    ok: bool,
    items: Iterable[Mapping[str, object]] = (),
    diagnostics: Iterable[Diagnostic] = (),
    summary: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The JSON form that commands share (L109)."""
    return {
        "command": command,
        "ok": ok,
        "items": list(items),
        "diagnostics": [found.to_wire() for found in diagnostics],
        "summary": dict(summary or {}),
    }


class Ink:
    """Colours for one stream: codes when it takes them, plain text when not. ``width`` is a terminal's, else None."""

    def __init__(self, stream: TextIO, choice: str) -> None:
        seen = is_terminal(stream)
        self.on = choice == "always" or (choice == "auto" and seen and _colour_wanted())
        self.width = _columns(stream) if seen else None

    def __call__(self, text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
        """The text in a colour. It must be printable already."""
        return click.style(text, fg=colour, bold=bold or None, dim=dim or None) if self.on and text else text

    def fold(self, text: str, indent: str = "  ") -> str:
        """One line as several that fit the terminal, the later ones indented."""
        if self.width is None or len(text) <= self.width:
            return text
        return textwrap.fill(text, self.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person watches the stream."""
    return stream is not None and not stream.closed and stream.isatty()


def _columns(stream: TextIO) -> int:
    """How wide a terminal is: as COLUMNS says, else as it says itself."""
    told = os.environ.get("COLUMNS", "")
    try:
        return int(told) if told.isdecimal() and int(told) else os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _colour_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True, slots=True)
class Output:
    """One command's way of writing. ``json`` is decided; ``color`` is auto, always or never.

    ``other`` is a format that only some commands have, such as ``sarif``; empty for text and JSON.
    """

    json: bool = False
    color: str = "auto"
    other: str = ""

    @property
    def ink(self) -> Ink:
        """Colours for what goes to stdout."""
        return Ink(sys.stdout, self.color)

    @property
    def side_ink(self) -> Ink:
        """Colours for what goes to stderr."""
        return Ink(sys.stderr, self.color)

    def say(self, text: str = "") -> None:
        """One line, or several, to stdout."""
        write(sys.stdout, f"{text}\n")

    def aside(self, text: str = "") -> None:
        """One line, or several, to stderr."""
        write(sys.stderr, f"{text}\n")

    def data(self, text: str) -> None:
        """Text from elsewhere to stdout: byte for byte into a file or pipe, made safe for a terminal."""
        self.say(printable(text) if is_terminal(sys.stdout) else text)

    def wire(self, value: object) -> None:
        """A JSON document to stdout."""
        self.say(to_json(value, terminal=is_terminal(sys.stdout)))


def output_options(*, json_when_piped: bool, also: Sequence[str] = ()) -> Callable[[_Decorated], _Decorated]:
    """Give a command ``--format`` and ``--color``; it receives them as one argument ``out``.

    ``json_when_piped`` says what ``auto`` means when stdout is no terminal (L108), ``also`` names further formats.
    """

    def decorate(command: _Decorated) -> _Decorated:
        command = click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            expose_value=False,
            callback=lambda ctx, _parameter, value: _decide(ctx, color=value),
            help="Colour the text; auto looks at the terminal and at NO_COLOR.",
        )(command)
        return click.option(
            "--format",
            type=click.Choice(["auto", "text", "json", *also]),
            default="auto",
            show_default=True,
            expose_value=False,
            callback=lambda ctx, _parameter, value: _decide(
                ctx, json=_json_meant(value, json_when_piped), other=value if value in also else ""
            ),
            help="How to write the outcome" + ("; auto is JSON into a pipe." if json_when_piped else "; auto is text."),
        )(command)

    return decorate


def _json_meant(value: str, json_when_piped: bool) -> bool:
    return value == "json" or (value == "auto" and json_when_piped and not is_terminal(sys.stdout))


def _decide(ctx: click.Context, **decided: Any) -> None:
    ctx.params["out"] = replace(ctx.params.get("out", Output()), **decided)


def complain(message: str, *, label: str = "error") -> None:
    """One problem to stderr, for a person."""
    ink = Ink(sys.stderr, "auto")
    text = printable(message)
    write(sys.stderr, f"{ink(f'{label}:', _LABEL.get(label), bold=True)} {text}\n" if label else f"{text}\n")


_LABEL = {"error": "red", "warning": "yellow", "hint": "cyan"}


def write(stream: TextIO | None, text: str) -> None:
    """Write and flush; a character the stream's encoding lacks becomes an escape."""
    if stream is None:
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


_STDOUT = 1


class _Leaving(io.FileIO):
    """A descriptor whose reader may leave, or whose disk may be full: what is written after that is dropped.

    Whatever the command does goes on; ``problem`` says afterwards why not all of it could be written.
    """

    gone = False
    problem = ""
    number = -1

    def write(self, data: Any, /) -> int:  # any buffer
        """Write, unless the reader has left (W15)."""
        size = memoryview(data).nbytes
        if self.gone:
            return size
        try:
            return super().write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.gone = True
        except OSError as error:
            self.gone, self.problem = True, error.strerror or str(error)
        return size


@dataclass(slots=True)
class Streams:
    """The guarded standard streams; ``problem`` says why the output could not be written, if that is so."""

    raws: list[_Leaving] = field(default_factory=list)

    @property
    def problem(self) -> str:
        """What kept stdout from being written; what goes to stderr is told beside the matter and may be lost."""
        return next((raw.problem for raw in self.raws if raw.problem and raw.number == _STDOUT), "")


@contextmanager
def guarded_streams() -> Iterator[Streams]:
    """While a command runs: a closed pipe is no error, and no character crashes the writer."""
    streams = Streams()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_guarded(stream, streams) for stream in before)
    try:
        yield streams
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _guarded(stream: TextIO | None, streams: Streams) -> TextIO:
    if stream is None:
        return io.StringIO()  # nobody reads it
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
        return stream
    try:
        raw = _Leaving(stream.fileno(), "w", closefd=False)
    except OSError:
        return stream
    raw.number = stream.fileno()
    streams.raws.append(raw)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace")
