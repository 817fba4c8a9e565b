"""``mklang akc comply``: whether rules are followed in real sessions."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Unpack

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.model_flags import ModelFlags, model_options
from mklang.cli.output import Output, complain, one_line, output_options
from mklang.errors import HostError, UsageError
from mklang.host.akc import Cycle, open_cycle
from mklang.knowledge.compliance.enforcing import breaks, hook_text
from mklang.knowledge.compliance.labelling import label
from mklang.knowledge.compliance.measuring import LEAST, Compliance, Distribution, measure, to_wire
from mklang.knowledge.compliance.outcomes import Outcome, outcomes
from mklang.knowledge.compliance.spec import Spec, Step, read_spec
from mklang.knowledge.compliance.timeline import Session, session_in, sessions_in
from mklang.knowledge.proposals import Draft, Summary


@click.group(short_help="Whether rules are followed in real sessions: by code first, by a model where it must.")
def command() -> None:
    """Compliance is measured on what agents did, against a spec: a rule as steps that can be seen."""


class Flags(ModelFlags):
    """What is to be measured, and how."""

    since: str
    distribution: str
    least: int
    ask: bool
    propose: bool


@command.command(short_help="Measure a spec on sessions.")
@click.argument("spec")
@click.argument("transcripts", nargs=-1)
@click.option("--since", default="", metavar="DAY", help="Of imported sessions, only records from this UTC day on.")
@click.option(
    "--distribution",
    type=click.Choice([one.value for one in Distribution]),
    required=True,
    help="Where the sessions are from: the rule's own surroundings, or others.",
)
@click.option("--least", type=click.IntRange(min=1), default=LEAST, show_default=True, help="Sessions for a share.")
@click.option("--ask", is_flag=True, help="Let a model look for the steps that are told in prose.")
@click.option("--propose", is_flag=True, help="Put a hook up for each step that is followed too seldom.")
@model_options
@output_options(json_when_piped=False)
@click.pass_obj
def run(told: str | None, spec: str, transcripts: tuple[str, ...], *, out: Output, **flags: Unpack[Flags]) -> int:
    """Measure SPEC on TRANSCRIPTS of agents, or on the sessions that were imported into the log. Each step of each
    session was done, violated, not done, or is not applicable or not observable; shares are of the first three.

    Exit code 1 when a session could not be measured.
    """
    cycle = open_cycle(told)
    read = read_spec(Path(spec))
    results: dict[str, dict[str, Outcome]] = {}
    unmeasured: list[str] = []
    labels = asyncio.run(_labels(cycle, read, _sessions(cycle, transcripts, flags["since"], unmeasured), flags))
    for session, marked in labels:
        if session.problems or isinstance(marked, str):
            unmeasured.append(f"{session.name}: {marked if isinstance(marked, str) else session.problems[0]}")
        else:
            results[session.name] = outcomes(read, session, marked)
    distribution = Distribution(flags["distribution"])
    found = measure(read, results, distribution=distribution, unmeasured=unmeasured, least=flags["least"])
    proposals = _propose(cycle, Path(spec), read, found) if flags["propose"] else []
    if out.json:
        wire = {"command": "akc comply run", "ok": not unmeasured, **to_wire(found)}
        out.wire({**wire, "results": _names(results), "proposals": proposals})
    else:
        _tell(found, proposals, out)
    return ExitCode.FAILED if unmeasured else ExitCode.OK


def _sessions(cycle: Cycle, transcripts: tuple[str, ...], since: str, unmeasured: list[str]) -> list[Session]:
    if not transcripts:
        return list(sessions_in(cycle.home.logs, since=since))
    found = []
    for name in transcripts:
        try:
            session = session_in(Path(name))
        except HostError as error:
            unmeasured.append(str(error))
            continue
        if session.events:
            found.append(session)
        else:
            unmeasured.append(f"{name}: no events in it")
    return found


async def _labels(
    cycle: Cycle, spec: Spec, sessions: list[Session], flags: Flags
) -> list[tuple[Session, dict[str, list[int]] | str | None]]:
    steps = spec.prose_steps
    if not (flags["ask"] and steps and sessions):
        return [(session, None) for session in sessions]
    from mklang.host.akc_models import MACHINES, Asking, stage_of  # the clients of models cost more than the rest

    asking = Asking.of(flags)
    models = asking.session(MACHINES / "label.mkl")
    try:
        stage = stage_of(models)
        folder = cycle.home.runs / "comply"
        return [(session, await label(session, steps, stage, folder)) for session in sessions]
    finally:
        await models.close()


def _propose(cycle: Cycle, path: Path, spec: Spec, found: Compliance) -> list[str]:
    made = []
    steps = {step.id: step for step in spec.steps}
    for measured in found.steps:
        if not measured.enforce:
            continue
        text = hook_text(path, steps[measured.step])
        why = f"step {measured.step} of {spec.id}: done in {measured.done} of {measured.of} sessions"
        summary = Summary(approved_intent=why, realised_change="a hook that enforces the step", impact="refuses tools")
        target = f".claude/hooks/{_slug(spec.id)}-{_slug(measured.step)}.sh"
        checked = cycle.rule_guard.check(text)
        try:
            made.append(cycle.proposals().make(target, checked, Draft(kind="hook", why=why, summary=summary)).id)
        except UsageError as error:
            complain(str(error), label="hint")
    return made


def _slug(text: str) -> str:
    return "".join(one if one.isalnum() else "-" for one in text.lower()).strip("-")


def _names(results: dict[str, dict[str, Outcome]]) -> dict[str, dict[str, str]]:
    return {name: {step: outcome.value for step, outcome in found.items()} for name, found in results.items()}


def _tell(found: Compliance, proposals: list[str], out: Output) -> None:
    out.say(f"{one_line(found.spec)}: {found.sessions} sessions, {found.distribution.value}")
    for one in found.steps:
        share = "too few to say" if one.share is None else f"{one.share:.0%} ({one.low:.0%} to {one.high:.0%})"
        counts = ", ".join(f"{count} {name}" for name, count in one.outcomes.items())
        optional = "" if one.required else " (optional)"
        out.say(f"  {out.ink(one_line(one.step), 'cyan')}{optional}: {share}; {counts or 'nothing'}")
        if one.enforce:
            out.say(out.ink("    followed too seldom: a hook would enforce it (--propose)", "yellow"))
    if found.note:
        out.say(f"  {found.note}")
    elif found.whole_of:
        out.say(f"  every required step: {found.whole} of {found.whole_of} sessions")
    for name in found.unmeasured:
        out.aside(out.side_ink(f"unmeasured: {one_line(name)}", "yellow"))
    for name in proposals:
        out.say(f"  a hook waits: mklang akc review {name}")


@command.command(short_help="The hook that enforces a step.")
@click.argument("spec")
@click.option("--step", "name", required=True, metavar="ID", help="The step.")
def hook(spec: str, name: str) -> int:
    """Read a pre-tool-use event on stdin and refuse what breaks the step: exit code 2 and the reason on stderr, which
    an agent is shown. What cannot be read or told is refused, too."""
    try:
        read = read_spec(Path(spec))
        why = breaks(read, _step(read, name), json.load(sys.stdin))
    except Exception as error:  # noqa: BLE001 - a hook that crashes lets everything pass; this one refuses
        complain(f"the hook refuses what it cannot look at: {error}")
        return ExitCode.UNUSABLE
    if why:
        complain(why, label="refused")
        return ExitCode.UNUSABLE
    return ExitCode.OK


def _step(spec: Spec, name: str) -> Step:
    found = next((step for step in spec.steps if step.id == name), None)
    if found is None:
        raise UsageError(f"there is no step '{name}'; there are {', '.join(step.id for step in spec.steps)}")
    return found
