"""``mklang akc maintain``: which documents may be stale."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import UsageError
from mklang.host.akc import open_cycle
from mklang.knowledge.loaded import LoadedFile, loaded_files
from mklang.knowledge.maintaining import stale_files


@click.command(short_help="Documents whose subject has been committed to since they were touched.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, files: tuple[str, ...], out: Output) -> int:
    """Compare the rule files and skills, or FILE, with the commits on what they refer to. A document may say what it is
    about: <!-- akc sources: PATH, PATH @ COMMIT -->. Exit code 1 when one may be stale; nothing is changed."""
    cycle = open_cycle(told)
    project = cycle.home.project
    listed = [_file(project, name) for name in files] or loaded_files(project, (cycle.config.rules,))
    found = stale_files(project, listed)
    if out.json:
        out.wire({"command": "akc maintain", "ok": not found, "items": [msgspec.to_builtins(one) for one in found]})
        return ExitCode.FAILED if found else ExitCode.OK
    for one in found:
        about = ", ".join(one.sources[:5]) + (f" and {len(one.sources) - 5} more" if len(one.sources) > 5 else "")
        out.say(f"{one_line(one.file)}: {one.commits} commits since {one.since} on {one_line(about)}")
    out.say(f"{len(listed)} documents, {len(found)} may be stale")
    return ExitCode.FAILED if found else ExitCode.OK


def _file(project: Path, name: str) -> LoadedFile:
    path = Path(name).resolve()
    if not path.is_file() or not path.is_relative_to(project.resolve()):
        raise UsageError(f"{name}: no file of {project}")
    return LoadedFile(path.relative_to(project.resolve()).as_posix(), path.read_text("utf-8", "replace"), False)
