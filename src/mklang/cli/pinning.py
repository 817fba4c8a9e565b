"""``mklang test --from-journal``: a recorded run written as a scenario file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, one_line
from mklang.diagnostics import Diagnostic
from mklang.errors import DocumentError, HostError, RunStoreError
from mklang.host.paths import runs_folder
from mklang.host.pinning import pinned_text
from mklang.host.replaying import find_recording
from mklang.host.session import load


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The run to pin, and what a person can say about the file to write."""

    run: str
    output: str | None = None
    name: str | None = None
    overwrite: bool = False

    def path(self, machine: Path, run: str) -> Path:
        """Where to write: beside the machine under a name that ``mklang test`` finds, unless a person says where."""
        return machine.with_name(f"{machine.stem}.{run}.test.yaml") if self.output is None else Path(self.output)


def write_pin(machine: str, pin: Pin, out: Output) -> int:
    """Pin a run of a machine and say where; the exit code."""
    try:
        journal = find_recording(pin.run, runs_folder())
        path, name = pin.path(Path(machine), journal.begin.run), pin.name or journal.begin.run
        _check_free(path, overwrite=pin.overwrite)
        _write(path, pinned_text(load(machine), journal, name=name), overwrite=pin.overwrite)
    except DocumentError as error:
        return _refuse(error.diagnostics, out)
    except HostError as error:
        return _refuse([Diagnostic(code="not-pinned", message=str(error), path="")], out)
    if out.json:
        items = [{"scenario": name, "status": "pinned", "path": str(path), "mismatches": []}]
        out.wire(envelope("test", ok=True, items=items, summary={"pinned": 1}))
    else:
        out.say(f"{out.ink('PINNED', 'green', bold=True)} {one_line(name)}: {one_line(str(path))}")
    return ExitCode.OK


def _check_free(path: Path, *, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise RunStoreError(f"{path}: this file exists; name another with --output, or replace it with --overwrite")


def _write(path: Path, text: str, *, overwrite: bool) -> None:
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise RunStoreError(f"{path}: cannot be written: {error.strerror}") from error


def _refuse(problems: Sequence[Diagnostic], out: Output) -> int:
    if out.json:
        out.wire(envelope("test", ok=False, diagnostics=problems, summary={"pinned": 0}))
    else:
        for line in draw(problems, out.side_ink):
            out.aside(line)
    return ExitCode.UNUSABLE
