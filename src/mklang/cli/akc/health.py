"""``mklang akc health``: what is loaded, looked at by code."""

from __future__ import annotations

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import UsageError
from mklang.host.akc import open_cycle
from mklang.knowledge.files import replace_file
from mklang.knowledge.health import Size, health_of
from mklang.knowledge.loaded import loaded_files


@click.command(short_help="References into nothing, the same said twice, and what it costs to load.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, out: Output) -> int:
    """Look at the rule files and skills of the project, without a model. Exit code 1 when a reference surely leads
    nowhere, 2 when there is nothing to look at."""
    cycle = open_cycle(told)
    files = loaded_files(cycle.home.project, (cycle.config.rules,))
    if not files:
        raise UsageError(f"no rule files or skills in {cycle.home.project}")
    last = cycle.home.root / "health.json"
    found = health_of(cycle.home.project, files, last)
    replace_file(last, msgspec.json.encode(Size(lines=found.lines)) + b"\n")
    failed = any(one.kind == "dangling" for one in found.findings)
    if out.json:
        out.wire({"command": "akc health", "ok": not failed, **msgspec.to_builtins(found)})
        return ExitCode.FAILED if failed else ExitCode.OK
    for one in found.findings:
        colour = "red" if one.kind == "dangling" else "yellow"
        out.say(f"{one_line(one.file)}:{one.line}: {out.ink(one.kind, colour)}: {one_line(one.message)}")
    change = "" if found.before is None else f" ({found.lines - found.before:+} since last time)"
    out.say(f"{found.files} files; every session loads {found.lines} lines, {found.characters:,} characters{change}")
    if found.lines > cycle.config.always_loaded:
        out.say(out.ink(f"that is more than {cycle.config.always_loaded} lines ('always_loaded')", "yellow"))
    return ExitCode.FAILED if failed else ExitCode.OK
