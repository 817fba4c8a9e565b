"""``mklang akc rebuild``: layer 2 again, from layer 1 alone."""

from __future__ import annotations

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.host.akc import open_cycle
from mklang.knowledge.files import read_plain
from mklang.knowledge.rebuilding import rebuild, replay


@click.command(short_help="Compute layer 2 again from layer 1, without a model.")
@click.option("--replay", "replayed", is_flag=True, help="Put what is computed in place; else it is only compared.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, *, replayed: bool, out: Output) -> int:
    """Compute the knowledge again from what models said then and what people did, both in layer 1. Without --replay it
    is only compared with what is there: exit code 1 when it differs. With it, what is there is kept in .akc/aside."""
    cycle = open_cycle(told)
    before = read_plain(cycle.home.knowledge)
    made = (rebuild if replayed else replay)(cycle.home, cycle.config.forbidden)
    same = before == made.knowledge or (before is None and not made.operations)
    if out.json:
        counts = {"operations": len(made.operations), "refused": list(made.refused)}
        out.wire({"command": "akc rebuild", "ok": same or replayed, "same": same, "replayed": replayed, **counts})
    else:
        for refused in made.refused:
            out.aside(f"left out: {one_line(refused)}")
        out.say(f"{len(made.operations)} operations; the knowledge is {'the same' if same else 'another'}")
    return ExitCode.OK if same or replayed else ExitCode.FAILED
