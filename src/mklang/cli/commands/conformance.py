"""``mklang conformance``: a directory of conformance cases, run against this implementation (L94)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, output_options
from mklang.cli.verdicts import tell
from mklang.testing.conformance import run_directory
from mklang.testing.playing import Played


@click.command(short_help="Run conformance cases against this implementation.")
@click.argument("directory", metavar="DIR")
@output_options(json_when_piped=False)
def command(directory: str, *, out: Output) -> int:
    """Run every conformance case in a directory, without a model.

    Exit code 1 when a case fails, 2 when there is no case.
    """
    played = run_directory(Path(directory))
    ok = all(one.passed for one in played)
    if out.json:
        out.wire(to_wire(played))
    else:
        tell(played, out, "case")
    return ExitCode.OK if ok else ExitCode.FAILED


def to_wire(played: Sequence[Played]) -> dict[str, object]:
    """The JSON form that third parties read: these keys and no others."""
    passed = sum(one.passed for one in played)
    return {
        "command": "conformance",
        "ok": passed == len(played),
        "items": [
            {"case": one.name, "ok": one.passed, "mismatches": [str(mismatch) for mismatch in one.mismatches]}
            for one in played
        ],
        "summary": {"passed": passed, "total": len(played)},
    }
