"""``mklang guard``: hold files and pipes against a guard, and look for mistakes in guard files (L124)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, is_terminal, one_line, output_options, printable, write
from mklang.cli.running import refuse
from mklang.diagnostics import Diagnostic, Severity, has_errors
from mklang.errors import DocumentError, UsageError
from mklang.guards import Checked, Failure, Guard, lint_guard, load_guard

_STDIN = "-"


@click.group(short_help="Hold values against a guard: schema, bounds, forbidden texts.")
def command() -> int:
    """Guards: code that a model's output passes before anything happens with it.

    A guard is a file NAME.guard.yaml. It is empty of opinions until somebody writes them in.
    """
    return ExitCode.OK


@command.command(short_help="Whether files pass a guard.")
@click.argument("guard")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@output_options(json_when_piped=False)
def check(guard: str, files: Sequence[str], out: Output) -> int:
    """Whether each FILE (or - for stdin) passes GUARD, and if not, every reason with its place.

    Exit code 1 when a file does not pass or an item of it is left out, 2 when the guard or a file cannot be read.
    """
    try:
        loaded = load_guard(guard)
        examined = [(path, loaded.examine(_bytes(path, loaded))) for path in files]
    except DocumentError as error:
        return refuse("guard check", error.diagnostics, out)
    passed = [isinstance(found, Checked) and not found.receipt.refused for _, found in examined]
    if out.json:
        items = [_wire(path, found) for path, found in examined]
        out.wire(envelope("guard check", ok=all(passed), items=items, summary={"files": len(files)}))
    else:
        for path, found in examined:
            _tell(path, found, out)
    return ExitCode.OK if all(passed) else ExitCode.FAILED


@command.command(short_help="Let stdin through to stdout when it passes a guard.")
@click.argument("guard")
@output_options(json_when_piped=False)
def pipe(guard: str, out: Output) -> int:
    """Read stdin to its end and write it, in its canonical form, to stdout if it passes GUARD.

    What does not pass is not written, not even in part; stderr says why and the exit code is 1. A guard that works per
    item writes the items that pass and still exits with 1.
    """
    try:
        loaded = load_guard(guard)
        found = loaded.examine(_bytes(_STDIN, loaded))
    except DocumentError as error:
        return refuse("guard pipe", error.diagnostics, out)
    failures = found.receipt.refused if isinstance(found, Checked) else found
    for failure in failures:
        out.aside(one_line(str(failure)))
    if isinstance(found, Checked):
        text = found.content().decode()
        write(sys.stdout, f"{printable(text)}\n" if is_terminal(sys.stdout) else text)
    return ExitCode.FAILED if failures else ExitCode.OK


@command.command(short_help="Find mistakes in guard files.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@output_options(json_when_piped=False)
def lint(files: Sequence[str], out: Output) -> int:
    """Find what makes a guard file unusable, and what is legal and does not do what it seems to.

    Exit code 1 when there is an error; warnings do not count.
    """
    found = [diagnostic for path in dict.fromkeys(files) for diagnostic in lint_guard(path)]
    if out.json:
        out.wire(envelope("guard lint", ok=not has_errors(found), diagnostics=found, summary={"files": len(files)}))
        return ExitCode.FAILED if has_errors(found) else ExitCode.OK
    for line in draw(found, out.ink):
        out.say(line)
    errors = sum(one.severity is Severity.ERROR for one in found)
    out.say(f"{len(set(files))} checked: {errors} errors, {len(found) - errors} warnings")
    return ExitCode.FAILED if errors else ExitCode.OK


def _bytes(path: str, guard: Guard) -> bytes:
    """As much of a file as the guard could let through, and one byte more."""
    if path == _STDIN:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("there is nothing on stdin; pipe a value into this command")
        return sys.stdin.buffer.read(guard.limit + 1)
    try:
        with Path(path).open("rb") as file:
            return file.read(guard.limit + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise DocumentError([Diagnostic(code="file-unreadable", message=message, path=path)]) from error


def _wire(path: str, found: Checked[object] | tuple[Failure, ...]) -> dict[str, object]:
    if isinstance(found, Checked):
        return {"path": path, "ok": not found.receipt.refused, "receipt": found.receipt.to_wire()}
    return {"path": path, "ok": False, "failures": [failure.to_wire() for failure in found]}


def _tell(path: str, found: Checked[object] | tuple[Failure, ...], out: Output) -> None:
    name = one_line(path)
    failures = found.receipt.refused if isinstance(found, Checked) else found
    for failure in failures:
        out.say(f"{name}: {one_line(str(failure))}")
    if isinstance(found, Checked):
        items = f", {len({failure.pointer for failure in failures})} places left out" if failures else ""
        about = f"({found.receipt.bytes} bytes{items}, sha256 {found.receipt.out_sha[:12]})"
        out.say(f"{name}: {out.ink('ok', 'green')} {about}")
