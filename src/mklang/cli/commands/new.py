"""``mklang new``: a machine of one's own, begun from one that is there (L114)."""

from __future__ import annotations

from pathlib import Path

import click

from mklang.cli.commands.init import tell
from mklang.cli.completing import MACHINE_NAME
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, one_line, output_options
from mklang.diagnostics import near_miss
from mklang.errors import UsageError
from mklang.host.layers import PROJECT_FOLDER
from mklang.host.listing import Listed, list_machines
from mklang.host.scaffolding import copy_of, write_new


@click.command(short_help="Begin a machine of your own from one that is there.")
@click.argument("name")
@click.option(
    "--from", "origin", type=MACHINE_NAME, required=True, metavar="MACHINE", help="The machine to begin from."
)
@click.option("--dir", "folder", metavar="DIR", help="Where to put it; else machines/ where there is one, or here.")
@output_options(json_when_piped=False)
def command(name: str, origin: str, folder: str | None, out: Output) -> int:
    """Begin a machine called NAME from one that 'mklang machines' lists: the machine, its scenarios and its guard under
    the new name. Nothing that is there is replaced.
    """
    home = Path(folder) if folder is not None else Path(PROJECT_FOLDER) if Path(PROJECT_FOLDER).is_dir() else Path()
    wanted = copy_of(_machine(origin), name, home)
    there = next((one.path for one in wanted if one.path.exists() or one.path.is_symlink()), None)
    if there is not None:
        raise UsageError(f"{there} is there already; choose another name")
    made = write_new(wanted)
    if out.json:
        items = [{"name": str(one.path), "status": "created"} for one in made]
        out.wire(envelope("new", ok=True, items=items, summary={"created": len(made)}))
        return ExitCode.OK
    tell(made, out)
    file = one_line(str(made[0].path))
    out.say(f"\nTry:\n  mklang test {file}\n  mklang graph {file}\n  mklang run {file}")
    return ExitCode.OK


def _machine(name: str) -> Listed:
    found = list_machines()
    machine = next((one for one in found if one.name == name and not one.hidden), None)
    if machine is None:
        hint = near_miss(name, [one.name for one in found]) or "'mklang machines' lists those there are"
        raise UsageError(f"--from {name}: there is no such machine; {hint}")
    if machine.machine is None:
        raise UsageError(f"--from {name}: {machine.path} has errors; 'mklang check' shows them")
    return machine
