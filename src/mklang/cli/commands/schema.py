"""``mklang schema``: the JSON Schema of a machine, for editors, or of a run's output, for programs (L73)."""

from __future__ import annotations

import sys

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import write
from mklang.engine.result_schema import result_schema_text
from mklang.lang.schema import schema_text


@click.command(short_help="Print the JSON Schema of machines, or of a run's output.")
@click.option("--language", "what", flag_value="language", default=True, help="Of machine files; the default.")
@click.option("--result", "what", flag_value="result", help="Of what 'mklang run --format json' writes.")
def command(*, what: str) -> int:
    """Print a JSON Schema to stdout. An editor that knows YAML schemas checks machines with it as you type."""
    write(sys.stdout, result_schema_text() if what == "result" else schema_text())
    return ExitCode.OK
