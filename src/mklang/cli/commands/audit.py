"""``mklang audit``: model output on its way to durable state, with the way it takes, before anything runs (L125)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from mklang import __version__
from mklang.audit.describe import Answer, Described
from mklang.audit.findings import AuditFinding
from mklang.audit.sarif import to_sarif
from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Ink, Output, one_line, output_options
from mklang.diagnostics import Severity
from mklang.engine.options import Effect
from mklang.errors import UsageError
from mklang.host.auditing import AuditReport, Looking, audit

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ANSWERS = {Answer.FINE: "green", Answer.FINDING: "red", Answer.UNCLEAR: "yellow", Answer.NOT_NEEDED: "green"}


@click.command(short_help="Find model output that reaches an effect with no guard on the way.")
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...")
@click.option("--describe", "described", is_flag=True, help="Tell each machine by its patterns, and review it.")
@click.option("--guards", metavar="FILE", help="A further file of bindings: which guard stands at which place.")
@click.option("--tool", "tools", multiple=True, metavar="NAME=read|effect", help="What a tool does, as the host says.")
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option("--sarif", is_flag=True, help="Write SARIF 2.1.0 to stdout, for code hosts.")
@output_options(json_when_piped=False)
def command(
    paths: Sequence[str],
    *,
    described: bool,
    guards: str | None,
    tools: Sequence[str],
    strict: bool,
    sarif: bool,
    out: Output,
) -> int:
    """Follow what models write and tools observe to the tools that act, in every machine of FILE or FOLDER (here: .).

    A finding says that on some way no guard looks at that value, and shows the way. Guards are found as for a run.

    Exit code 1 when there is a finding that is an error, 2 when a file cannot be read.
    """
    report = audit(paths or (".",), Looking(guards=guards, effects=dict(_effect(text) for text in tools)))
    failed = report.failed or (strict and any(one.severity is Severity.WARNING for one in report.findings))
    code = ExitCode.UNUSABLE if report.problems else ExitCode.FAILED if failed else ExitCode.OK
    if sarif:
        out.wire(to_sarif(report.findings, version=__version__))
    elif out.json:
        out.wire(_wire(report, ok=code is ExitCode.OK, described=described))
    else:
        _print(report, out, described=described)
    return code


def _effect(text: str) -> tuple[str, Effect]:
    name, equals, word = text.rpartition("=")
    if not name or not equals or word not in {effect.value for effect in Effect}:
        raise UsageError(f"--tool {text!r}: write --tool NAME=read or --tool NAME=effect")
    return name, Effect(word)


def _wire(report: AuditReport, *, ok: bool, described: bool) -> dict[str, object]:
    wire: dict[str, object] = {
        "command": "audit",
        "ok": ok,
        "findings": [found.to_wire() for found in report.findings],
        "diagnostics": [found.to_wire() for found in report.problems],
        "summary": {"machines": report.machines, "findings": len(report.findings), "unread": len(report.problems)},
    }
    return wire | {"described": [one.to_wire() for one in report.described]} if described else wire


def _print(report: AuditReport, out: Output, *, described: bool) -> None:
    for line in draw(report.problems, out.side_ink):
        out.aside(line)
    for finding in report.findings:
        _print_finding(finding, out)
    if described:
        for one in report.described:
            _print_description(one, out)
    counts = Counter(found.severity for found in report.findings)
    words = [f"{counts[severity]} {severity.value}{'' if counts[severity] == 1 else 's'}" for severity in Severity]
    machines = f"{report.machines} machine{'' if report.machines == 1 else 's'}"
    unread = f"; {len(report.problems)} problems kept something from being looked at" if report.problems else ""
    out.say(f"{machines} audited: {', '.join(words)}{unread}")


def _print_finding(finding: AuditFinding, out: Output) -> None:
    ink = out.ink
    place = f"{one_line(finding.path)}:{finding.line}:{finding.column}"
    severity = ink(f"{finding.severity.value}:", _COLOURS[finding.severity], bold=True)
    out.say(f"{ink(f'{place}:', bold=True)} {severity} {finding.code}: {one_line(finding.message)}")
    for point in finding.trace:
        out.say(f"  {ink(f'{one_line(point.path)}:{point.line}', dim=True)}  {one_line(point.note)}")
    if finding.hint:
        out.say(f"  {ink('hint:', 'cyan')} {one_line(finding.hint)}")


def _print_description(one: Described, out: Output) -> None:
    ink: Ink = out.ink
    out.say(f"{ink(one_line(one.machine), bold=True)} {ink(one_line(f'({one.path})'), dim=True)}")
    for pattern, where in one.patterns:
        out.say(f"  {pattern}: {one_line(where)}")
    for reviewed in one.review:
        answer = ink(reviewed.answer.value, _ANSWERS[reviewed.answer])
        out.say(f"  {reviewed.question} {answer}: {one_line(reviewed.because)}")
