"""``mklang graph``: a machine as a picture, with the way of a run drawn on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from mklang.charts.chart import Chart
from mklang.charts.dot import to_dot
from mklang.charts.mermaid import to_mermaid
from mklang.charts.svg import to_svg
from mklang.charts.wire import to_wire
from mklang.cli.completing import MACHINE
from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Ink, Output, to_json, write
from mklang.errors import DocumentError, UsageError
from mklang.host.drawing import draw_machine
from mklang.host.paths import runs_folder

_FORMATS: Mapping[str, Callable[[Chart], str]] = {
    "mermaid": to_mermaid,
    "dot": to_dot,
    "svg": to_svg,
    "json": lambda chart: to_json(to_wire(chart)) + "\n",
}
_ENDINGS = {".svg": "svg", ".gv": "dot", ".dot": "dot", ".json": "json", ".mmd": "mermaid", ".mermaid": "mermaid"}


@click.command(short_help="Draw a machine, and the way of a run through it.")
@click.argument("machine", type=MACHINE)
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), help="Default: by the output file, else mermaid.")
@click.option("--run", metavar="RUN", help="Draw the way of this run: a kept run, a journal, or a run's JSON output.")
@click.option("--output", "-o", metavar="FILE", help="Write the picture into this file.")
@click.option(
    "--depth", type=click.IntRange(0), default=1, show_default=True, help="How many levels of calls are drawn inside."
)
def command(*, machine: str, form: str | None, run: str | None, output: str | None, depth: int) -> int:
    """Draw the machine in a file: its states by kind, its gates by policy and in order, and what it calls.

    Mermaid text goes into Markdown; SVG needs the extra 'graph', or Graphviz.
    """
    try:
        drawn = draw_machine(machine, depth=depth, run=run, folder=runs_folder())
    except DocumentError as error:
        for line in draw(error.diagnostics, Ink(sys.stderr, "auto")):
            Output().aside(line)
        return ExitCode.UNUSABLE
    for line in draw(drawn.warnings, Ink(sys.stderr, "auto")):
        Output().aside(line)
    form = form or _ENDINGS.get(Path(output or "").suffix, "mermaid")
    text = _FORMATS[form](drawn.chart)
    if output is None:
        write(sys.stdout, text)
        return ExitCode.OK
    try:
        Path(output).write_text(text, "utf-8")  # mklang: ignore[AK102] a picture, where a person asked for it
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror or error}") from error
    return ExitCode.OK
