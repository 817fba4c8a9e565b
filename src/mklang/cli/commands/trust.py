"""``mklang trust``: let a project folder's own configuration count, as it is now."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, is_terminal, one_line, output_options
from mklang.cli.running import refuse
from mklang.errors import DocumentError, UsageError
from mklang.host.configuration import Configuration, resolve
from mklang.host.trust import Trust


@click.command(short_help="Let a project folder's own configuration count, as it is now.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--remove", is_flag=True, help="Trust the folder no longer.")
@click.option("--list", "listed", is_flag=True, help="List the folders that are trusted.")
@output_options(json_when_piped=False)
def command(folder: str, *, yes: bool, remove: bool, listed: bool, out: Output) -> int:
    """Show what the configuration in DIR (config/runtime.yaml and .env) asks for, and let it count.

    An untrusted folder may choose models. Addresses, keys, write grants, hosts, commands and plug-ins that it names
    take no effect. Trust is bound to what the folder says now: when that changes, the folder is not trusted until you
    have looked again. Files that a command of the folder starts are among it when they lie in the folder and the
    command names them; what those load in turn is not.

    Exit code 1 when you say no, 2 when there is nobody to ask and no --yes.
    """
    if not Path(folder).is_dir():
        raise click.UsageError(f"'{folder}' is no folder", click.get_current_context())
    try:
        configuration = resolve(here=Path(folder))
    except DocumentError as error:
        return refuse("trust", error.diagnostics, out)
    if listed:
        return _list(configuration, out)
    if remove:
        known = configuration.store.remove(configuration.project)
        return _tell(out, configuration, "no longer trusted" if known else "was not trusted")
    if configuration.trust is Trust.TRUSTED:
        return _tell(out, configuration, "is trusted already")
    if not configuration.refused:
        return _tell(out, configuration, "asks for nothing that needs trust")
    out.aside(one_line(f"{configuration.project} asks for:"))
    for problem in configuration.refused:
        out.aside("  " + out.side_ink(one_line(f"{problem.where}: {_asked(problem.message)}"), "yellow"))
    if not yes and not _agreed(configuration):
        return ExitCode.FAILED
    configuration.store.add(configuration.project, configuration.pin)
    return _tell(out, configuration, "is trusted as it is now")


def _asked(message: str) -> str:
    return message.partition(" takes no effect")[0]


def _agreed(configuration: Configuration) -> bool:
    if not is_terminal(sys.stdin):
        raise UsageError("there is nobody to ask here: read what the folder asks for, then say --yes")
    return click.confirm(f"Trust {configuration.project}?", err=True)


def _tell(out: Output, configuration: Configuration, what: str) -> int:
    if out.json:
        item = {"folder": str(configuration.project), "trust": what, "asks": [p.where for p in configuration.refused]}
        out.wire(envelope("trust", ok=True, items=[item]))
    else:
        out.data(f"{configuration.project} {what}")
    return ExitCode.OK


def _list(configuration: Configuration, out: Output) -> int:
    folders = sorted(configuration.store.folders())
    if out.json:
        out.wire(envelope("trust", ok=True, items=[{"folder": folder} for folder in folders]))
    else:
        for folder in folders:
            out.data(folder)
        if not folders:
            out.aside("no folder is trusted")
    return ExitCode.OK
