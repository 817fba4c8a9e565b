"""``mklang akc propose``: put a change up for decision."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, output_options
from mklang.errors import UsageError
from mklang.host.akc import Cycle, open_cycle
from mklang.knowledge.promotion import lineage_of
from mklang.knowledge.proposals import Draft, Proposal, Summary

_DELTAS = ["none", "present", "reapproval"]


@click.command(short_help="Put a rule or a changed file up for decision.")
@click.argument("target", required=False)
@click.option("--rule", metavar="TEXT", help="A rule to put at the end of TARGET (else: the configured rules file).")
@click.option("--from", "patterns", multiple=True, metavar="PATTERN", help="A pattern that the rule came from.")
@click.option("--file", "file", metavar="FILE", help="The whole new text of TARGET; - is stdin.")
@click.option("--why", default="", metavar="TEXT", help="The reason, shown to who decides.")
@click.option("--change", default="", metavar="TEXT", help="What is changed, in a line.")
@click.option("--impact", default="", metavar="TEXT", help="What users or operation will notice.")
@click.option("--plan-delta", type=click.Choice(_DELTAS), default="none", help="Whether it differs from the plan.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(
    told: str | None,
    /,
    target: str | None,
    *,
    rule: str | None,
    patterns: tuple[str, ...],
    file: str | None,
    out: Output,
    **about: str,
) -> int:
    """Propose a rule, or a new text for TARGET, a path in the project. Nothing is changed; 'akc review' decides."""
    cycle = open_cycle(told)
    if (rule is None) == (file is None):
        raise UsageError("propose a --rule, or the new text of a target with --file, and not both")
    proposal = (
        _rule(cycle, rule, target or cycle.config.rules, patterns, why=about["why"])
        if rule is not None
        else _edit(cycle, target, file or "-", about)
    )
    if out.json:
        out.wire({"command": "akc propose", "ok": True, "proposal": proposal.id, "target": proposal.target})
    else:
        out.say(f"{proposal.id} waits; decide: mklang akc review {proposal.id}")
    return ExitCode.OK


def _rule(cycle: Cycle, text: str, target: str, patterns: tuple[str, ...], *, why: str) -> Proposal:
    state = cycle.store().state
    unknown = [one for one in patterns if one not in state.patterns]
    if unknown:
        raise UsageError(f"there is no pattern {', '.join(unknown)}; 'mklang akc knowledge' lists them")
    return cycle.promoter().propose(text, target, lineage_of(state, patterns), why=why)


def _edit(cycle: Cycle, target: str | None, file: str, about: dict[str, str]) -> Proposal:
    if target is None:
        raise UsageError("which file? give TARGET, a path in the project")
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    summary = Summary(
        approved_intent=about["why"],
        realised_change=about["change"],
        plan_delta=about["plan_delta"],
        impact=about["impact"],
    )
    return cycle.proposals().make(target, cycle.rule_guard.check(data), Draft(why=about["why"], summary=summary))
