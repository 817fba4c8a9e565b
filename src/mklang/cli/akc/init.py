"""``mklang akc init``: make a home."""

from __future__ import annotations

from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, output_options
from mklang.host.akc import make_cycle


@click.command(short_help="Make a cycle in this folder.")
@output_options(json_when_piped=False)
def command(out: Output) -> int:
    """Make the folder .akc here, for you alone. What is there stays as it is."""
    home = make_cycle(Path.cwd())
    if out.json:
        out.wire({"command": "akc init", "ok": True, "home": str(home.root)})
    else:
        out.say(f"{home.root} is ready; write to it with 'mklang akc log append' or 'mklang akc log import'")
    return ExitCode.OK
