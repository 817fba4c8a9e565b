"""``mklang check``: every mistake in machine files, each at its place, without a model (L114)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Ink, Output, envelope, one_line, output_options, printable
from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.lang.files import read_source
from mklang.lang.reader import read_machine
from mklang.source import Source, Span

_COLOURS: Mapping[Severity, str] = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_LINE_WIDTH = 100
"""How much of a long source line is shown around the place."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One file's outcome."""

    path: str
    source: Source | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def status(self) -> str:
        """``error``, ``warning`` or ``ok``: the worst that was found."""
        found = {diagnostic.severity for diagnostic in self.diagnostics}
        worst = (severity.value for severity in (Severity.ERROR, Severity.WARNING) if severity in found)
        return next(worst, "ok")

    def to_wire(self) -> dict[str, object]:
        """The JSON form of an item (L109)."""
        return {
            "path": self.path,
            "status": self.status,
            "errors": [found.render() for found in self.diagnostics if found.severity is Severity.ERROR],
            "warnings": [found.render() for found in self.diagnostics if found.severity is Severity.WARNING],
            "diagnostics": [found.to_wire() for found in self.diagnostics],
        }


@click.command(short_help="Find mistakes in machine files, without a model.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--strict", is_flag=True, help="Treat a language version that is not supported as an error.")
@output_options(json_when_piped=False)
def command(files: Sequence[str], *, strict: bool, out: Output) -> int:
    """Find mistakes in machine files: what cannot be read, and what could not run.

    Exit code 1 when there is an error, also for a file that is missing; warnings do not count.
    """
    checked = [check_file(path, strict=strict) for path in dict.fromkeys(files)]
    failed = any(one.status == "error" for one in checked)
    if out.json:
        items = [one.to_wire() for one in checked]
        out.wire(envelope("check", ok=not failed, items=items, summary={"files": len(checked)}))
    else:
        _print(checked, out)
    return ExitCode.FAILED if failed else ExitCode.OK


def check_file(path: str, *, strict: bool) -> Checked:
    """Read and analyse one file."""
    source, problems = read_source(path)
    if source is None:
        return Checked(path, None, problems)
    reading = read_machine(source)
    return Checked(path, source, in_order(reading.diagnostics))


def _print(checked: Sequence[Checked], out: Output) -> None:
    for one in checked:
        lines = one.source.text.splitlines() if one.source and one.diagnostics else []
        for found in one.diagnostics:
            text = lines[found.span.line - 1] if found.span and found.span.line <= len(lines) else ""
            out.say("\n".join(_draw(found, text, out.ink)))
        if one.status == "ok":
            out.say(f"{one_line(one.path)}: {out.ink('ok', 'green')}")
    out.say(_summary(checked))


def _summary(checked: Sequence[Checked]) -> str:
    severities = Counter(found.severity for one in checked for found in one.diagnostics)
    counts = [(len(checked), "file"), (severities[Severity.ERROR], "error"), (severities[Severity.WARNING], "warning")]
    files, *problems = (f"{number} {word}{'' if number == 1 else 's'}" for number, word in counts)
    return f"{files} checked: {', '.join(problems)}"


def _draw(found: Diagnostic, text: str, ink: Ink) -> Iterable[str]:
    """A diagnostic as people and editors read it, with the source line and the place underlined."""
    colour = _COLOURS[found.severity]
    place = f"{found.path}:{found.span.line}:{found.span.column}" if found.span else found.path
    where = f"{found.where}: " if found.where else ""
    yield (
        f"{ink(one_line(place), bold=True)}: {ink(found.severity.value, colour, bold=True)}: {found.code}: "
        f"{one_line(f'{where}{found.message}')}"
    )
    if found.span and text.strip():
        shown, before, under = _excerpt(text, found.span)
        margin = f"{found.span.line} |"
        yield f"  {ink(margin, dim=True)} {shown}"
        yield f"  {ink(margin[-1].rjust(len(margin)), dim=True)} {before}{ink(under, colour, bold=True)}"
    if found.hint:
        yield f"  {ink('hint:', 'cyan')} {one_line(found.hint)}"


def _excerpt(text: str, span: Span) -> tuple[str, str, str]:
    """The part of a line around a span, the blanks before it, and the carets under it."""
    start = min(span.column - 1, len(text))
    end = min(span.end_column - 1, len(text)) if span.end_line == span.line else len(text.rstrip())
    left = max(0, start - _LINE_WIDTH // 2) if len(text) > _LINE_WIDTH else 0
    right = left + _LINE_WIDTH
    head, body, tail = (text[left:start], text[start : min(end, right)], text[max(start, min(end, right)) : right])
    cuts = ("…" if left else "", "…" if right < len(text) else "")
    head, body, tail = (printable(part).replace("\t", "    ").replace("\n", " ") for part in (head, body, tail))
    blanks = " " * (_cells(head) + len(cuts[0]))
    return f"{cuts[0]}{head}{body}{tail}{cuts[1]}", blanks, "^" * max(1, _cells(body))


def _cells(text: str) -> int:
    """How many columns a terminal gives to a text."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
