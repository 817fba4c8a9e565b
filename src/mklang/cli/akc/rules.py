"""``mklang akc rules``: what is in force."""

from __future__ import annotations

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.host.akc import open_cycle
from mklang.knowledge.promotion import active_rules


@click.command(short_help="The rules in force, and what they came from.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, out: Output) -> int:
    """The rules that were approved here and still stand in their files: name, file, who decided when, from which
    patterns."""
    cycle = open_cycle(told)
    found = active_rules(cycle.home, cycle.ledger().rows)
    if out.json:
        items = [
            {
                "id": one.rule.id,
                "text": one.rule.text,
                "target": one.target,
                "by": one.decision.actor,
                "at": one.decision.at,
                "proposal": one.decision.proposal,
                "patterns": list(one.decision.patterns),
            }
            for one in found
        ]
        out.wire({"command": "akc rules", "ok": True, "items": items})
        return ExitCode.OK
    for one in found:
        row = one.decision
        out.say(f"{out.ink(one.rule.id, 'cyan')}  {one_line(one.rule.text, 200)}")
        about = f"{one.target}, approved by {row.actor} {row.at}, from {', '.join(row.patterns) or 'no pattern'}"
        out.say(out.ink(f"              {one_line(about)}", dim=True))
    if not found:
        out.aside("no rules")
    return ExitCode.OK
