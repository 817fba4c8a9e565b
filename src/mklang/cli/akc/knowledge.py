"""``mklang akc knowledge``: layer 2 from the command line."""

from __future__ import annotations

import click
import msgspec

from mklang.cli.akc.removing import tell_removals
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import UsageError
from mklang.host.akc import open_cycle, person
from mklang.knowledge.acting import Acting
from mklang.knowledge.acting import adopt as adopt_patterns
from mklang.knowledge.operations import Act
from mklang.knowledge.patterns import ranked, top
from mklang.knowledge.schemas import knowledge_guard

_ACTS = {
    Act.RETIRE: "It is no longer needed.",
    Act.REFUTE: "It is wrong.",
    Act.REVOKE: "Its source is not to be trusted: all that came from a run, record, session or pattern goes.",
    Act.TOUCH: "It was used.",
}


@click.group(short_help="Layer 2: list patterns, take some over, retire or revoke them.", invoke_without_command=True)
@click.option("--top", "count", type=click.IntRange(min=0), metavar="N", help="Only the N heaviest.")
@click.option("--by-age", is_flag=True, help="Weigh by age alone, whatever importance a model gave.")
@output_options(json_when_piped=False)
@click.pass_context
def command(ctx: click.Context, *, count: int | None, by_age: bool, out: Output) -> int:
    """The patterns, the heaviest first. A pattern's weight halves in 13.5 days; nothing is deleted."""
    if ctx.invoked_subcommand is not None:
        return ExitCode.OK
    cycle = open_cycle(ctx.obj)
    store = cycle.store()
    if store.sealed:
        out.aside(out.side_ink("sealed: ", "red", bold=True) + one_line(store.sealed[0]))
        out.aside("  see 'mklang akc doctor'")
        return ExitCode.FAILED
    found = ranked(store.patterns, cycle.clock(), by_age_alone=by_age)
    found = top(found, len(found) if count is None else count)
    if out.json:
        items = [
            {**msgspec.to_builtins(one.pattern), "weight": round(one.weight, 4), "ahead": one.ahead} for one in found
        ]
        out.wire({"command": "akc knowledge", "ok": True, "items": items, "summary": {"patterns": len(store.patterns)}})
        return ExitCode.OK
    for one in found:
        pattern = one.pattern
        times = f" ×{pattern.count}" if pattern.count > 1 else ""
        ahead = "  (dated in the future)" if one.ahead else ""
        ink = out.ink
        out.say(f"{one.weight:.3f}  {ink(pattern.id, 'cyan')}  {one_line(pattern.pattern, 200)}{times}")
        out.say(ink(f"       {pattern.category}, {pattern.distilled}{ahead}{_share(pattern.share)}", dim=True))
    if not found:
        out.aside("no patterns")
    return ExitCode.OK


def _share(share: dict[str, int]) -> str:
    total = sum(share.values())
    if not total:
        return ""
    return ", from " + ", ".join(f"{count} {origin}" for origin, count in sorted(share.items()))


@command.command(short_help="Take over the patterns of a knowledge.json.")
@click.argument("file", required=False)
@click.pass_obj
def adopt(told: str | None, file: str | None) -> int:
    """Take over the patterns of FILE, a knowledge.json in the form of the public reference; without FILE the one that
    lies in the cycle's folder and was written by something else. Patterns that are known are counted, not doubled."""
    cycle = open_cycle(told)
    path = file or str(cycle.home.knowledge)
    try:
        items = knowledge_guard(cycle.config.forbidden, strict=False).load(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    new = adopt_patterns(cycle.store(), cycle.log(), items)
    click.echo(f"{len(items.value)} patterns read, {new} of them new")
    return ExitCode.OK


@command.command(short_help="Write knowledge.json anew.")
@click.pass_obj
def export(told: str | None) -> int:
    """Write knowledge.json as it follows from the operations."""
    cycle = open_cycle(told)
    cycle.store().export()
    click.echo(str(cycle.home.knowledge))
    return ExitCode.OK


def _act_command(kind: Act) -> click.Command:
    @click.command(kind.value, short_help=_ACTS[kind])
    @click.argument("subject")
    @click.option("--why", default="", metavar="TEXT", help="The reason, which is kept.")
    @output_options(json_when_piped=False)
    @click.pass_obj
    def do(told: str | None, subject: str, *, why: str, out: Output) -> int:
        cycle = open_cycle(told)
        acting = Acting(home=cycle.home, store=cycle.store(), log=cycle.log(), promoter=cycle.promoter())
        done = acting.do(kind, subject, by=person(), why=why)
        return tell_removals(kind.value, done, out)

    do.help = _ACTS[kind]
    return do


for _kind in _ACTS:
    command.add_command(_act_command(_kind))
