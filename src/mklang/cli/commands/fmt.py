"""``mklang fmt``: machine files in the one way to write them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.findings import counted
from mklang.cli.output import Output, envelope, one_line, output_options, printable, write
from mklang.host.formatting import Done, format_files
from mklang.lang.files import decode
from mklang.lang.format import format_source


@click.command(short_help="Write machine files in the one way, comments kept.")
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 when a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change, exit code 1 when something would.")
@output_options(json_when_piped=False)
def command(files: Sequence[str], *, check: bool, diff: bool, out: Output) -> int:
    """Format machine files: two spaces a level, keys in the language's order, comments and block styles kept.

    What a machine means never changes. '-' formats stdin to stdout. Exit code 2 when a file cannot be formatted.
    """
    if list(files) == ["-"]:
        return _pipe(out)
    dry = check or diff
    done = list(format_files(files, dry=dry))
    if out.json:
        out.wire(_to_wire(done))
    else:
        _tell(done, out, dry=dry, diff=diff)
    if any(one.status == "error" for one in done):
        return ExitCode.UNUSABLE
    return ExitCode.FAILED if dry and any(one.status == "changed" for one in done) else ExitCode.OK


def _pipe(out: Output) -> int:
    source, problems = decode(sys.stdin.buffer.read(), "<stdin>")
    formatted = format_source(source) if source else None
    if formatted is None or formatted.text is None:
        for line in draw(problems or (formatted.problems if formatted else ()), out.side_ink):
            out.aside(line)
        return ExitCode.UNUSABLE
    write(sys.stdout, formatted.text)
    return ExitCode.OK


def _tell(done: Sequence[Done], out: Output, *, dry: bool, diff: bool) -> None:
    for one in done:
        for line in draw(one.problems, out.side_ink):
            out.aside(line)
        if one.status == "changed" and diff:
            for line in one.diff:
                out.say(out.ink(printable(line), {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])))
        elif one.status == "changed":
            out.say(f"{'would format' if dry else 'formatted'} {one_line(one.path)}")
    if not diff:
        changed = sum(one.status == "changed" for one in done)
        same = sum(one.status == "unchanged" for one in done)
        word = "would change" if dry else "changed"
        out.say(
            f"{counted(len(done), 'file')}: {changed} {word}, {same} left as {'it is' if same == 1 else 'they are'}"
        )


def _to_wire(done: Sequence[Done]) -> dict[str, object]:
    items = [{"path": one.path, "status": one.status, "diff": "\n".join(one.diff)} for one in done]
    counts = {status: sum(one.status == status for one in done) for status in ("changed", "unchanged", "error")}
    problems = [problem for one in done for problem in one.problems]
    return envelope("fmt", ok=not counts["error"], items=items, diagnostics=problems, summary=counts)
