"""``mklang init``: the files a project, or a person, begins with; nothing that is there is touched (L114)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, complain, envelope, one_line, output_options
from mklang.errors import UsageError
from mklang.host.scaffolding import Made, project, user, write_new


@click.command(short_help="Make the files that a project begins with.")
@click.option("--dir", "folder", metavar="DIR", help="The project's folder, made where it is missing; else this one.")
@click.option("--user", "for_user", is_flag=True, help="Instead, make your own configuration and machines folder.")
@output_options(json_when_piped=False)
def command(folder: str | None, *, for_user: bool, out: Output) -> int:
    """Make the files that a project begins with: a configuration that runs at once, a machine with its scenarios and
    its guard, a workflow for CI, a .env for keys that only you can read, and a .gitignore that leaves it out.

    Nothing that is there is touched, and when one file cannot be written none of the new ones stays.
    """
    if for_user and folder is not None:
        raise UsageError("--user and --dir say two different places")
    root = Path(folder or ".")
    made = write_new(user(os.environ) if for_user else project(root))
    if out.json:
        out.wire(_wire(made))
        return ExitCode.OK
    tell(made, out)
    if not for_user and not _ignored(root):
        complain(f"{root / '.gitignore'} was there already and does not name .env, the file for keys", label="warning")
    for line in _next_steps(made):
        out.say(line)
    return ExitCode.OK


def tell(made: list[Made], out: Output) -> None:
    """One line for each file."""
    for one in made:
        verb = out.ink("created", "green") if one.created else out.ink("exists ", dim=True)
        out.say(f"{verb}  {one_line(str(one.path))}" + ("" if one.created else " (left as it is)"))


def _wire(made: list[Made]) -> dict[str, object]:
    items = [{"name": str(one.path), "status": "created" if one.created else "exists"} for one in made]
    created = sum(one.created for one in made)
    return envelope("init", ok=True, items=items, summary={"created": created, "unchanged": len(made) - created})


def _ignored(root: Path) -> bool:
    try:
        lines = (root / ".gitignore").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return True
    return any(line.strip().strip("/") in {".env", ".env*", "*.env"} for line in lines)


def _next_steps(made: list[Made]) -> Iterator[str]:
    machine = next(one.path for one in made if one.path.suffix == ".mkl")
    place, file = one_line(str(machine.parent)), one_line(str(machine))
    steps = {
        f"mklang check {place}": "every mistake at once; edit the machine and see",
        f"mklang test {place}": "its scenarios, no model needed",
        f"mklang run {file}": "on the model that is configured",
        f"mklang run {file} --set audience=everybody --hitl": "waits for your yes",
        "mklang doctor": "which model that is, and why",
        "mklang machines": "what else there is to run and to copy",
    }
    width = max(map(len, steps))
    yield ""
    yield "Try, in this order:"
    yield from (f"  {call:<{width}}  # {why}" for call, why in steps.items())
