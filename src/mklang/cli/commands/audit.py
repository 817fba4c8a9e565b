"""``mklang audit``: model output on its way to durable state, with the way it takes, before anything runs (L125)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click

from mklang import __version__
from mklang.audit.describe import Answer, Described
from mklang.audit.findings import AuditFinding
from mklang.audit.python import PythonReport
from mklang.audit.sarif import to_sarif
from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Ink, Output, one_line, output_options
from mklang.diagnostics import Severity
from mklang.engine.options import Effect
from mklang.errors import UsageError
from mklang.host.auditing import AuditReport, Looking
from mklang.host.auditing_python import PythonLooking, audited, write_baseline

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_ANSWERS = {Answer.FINE: "green", Answer.FINDING: "red", Answer.UNCLEAR: "yellow", Answer.NOT_NEEDED: "green"}


@click.command(short_help="Find model output that reaches an effect with no guard on the way.")
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...")
@click.option("--describe", "described", is_flag=True, help="Tell each machine by its patterns, and review it.")
@click.option("--guards", metavar="FILE", help="A further file of bindings: which guard stands at which place.")
@click.option(
    "--tool", "tools", multiple=True, metavar="NAME=read|egress|effect", help="What a tool does, as the host says."
)
@click.option("--all", "everything", is_flag=True, help="Python: list writes to logs and proposals too (AK901).")
@click.option("--changed", metavar="REV", help="Only findings on whose way a file differs from this git revision.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings that this file lists.")
@click.option("--write-baseline", metavar="FILE", help="Write what is found to a baseline, and succeed.")
@click.option("--no-cache", is_flag=True, help="Python: read every file anew.")
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
    **about: Any,
) -> int:
    """Follow what models write and tools observe to what acts on it, in the machines and the Python of FILE or FOLDER
    (here: .).

    A finding says that on some way no guard looks at that value, and shows the way. Guards are found as for a run.
    Python is read, never imported or run; a file that cannot be read is told and stops nothing.

    Exit code 1 when there is a finding that is an error, 2 when a machine cannot be read or the audit came to the limit
    of its work (effort, in [tool.mklang.audit]).
    """
    looking = Looking(guards=guards, effects=dict(_effect(text) for text in tools))
    report = audited(paths or (".",), looking, _python(about), described=described)
    if about["write_baseline"]:
        count = write_baseline(about["write_baseline"], report.findings)
        out.say(f"{count} finding{'' if count == 1 else 's'} written to {one_line(about['write_baseline'])}")
        return ExitCode.OK
    failed = report.failed or (strict and any(one.severity is Severity.WARNING for one in report.findings))
    unfinished = bool(report.problems) or (report.python is not None and not report.python.finished)
    code = ExitCode.UNUSABLE if unfinished else ExitCode.FAILED if failed else ExitCode.OK
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
        raise UsageError(f"--tool {text!r}: write --tool NAME=read, NAME=egress or NAME=effect")
    return name, Effect(word)


def _wire(report: AuditReport, *, ok: bool, described: bool) -> dict[str, object]:
    wire: dict[str, object] = {
        "command": "audit",
        "ok": ok,
        "findings": [found.to_wire() for found in report.findings],
        "diagnostics": [found.to_wire() for found in report.problems],
        "summary": {"machines": report.machines, "findings": len(report.findings), "unread": len(report.problems)}
        | {"silenced": report.silenced, "known": report.known},
    }
    if report.python is not None:
        wire["python"] = report.python.counts()
    return wire | {"described": [one.to_wire() for one in report.described]} if described else wire


def _print(report: AuditReport, out: Output, *, described: bool) -> None:
    unreadable = report.python.problems if report.python is not None else ()
    for line in draw((*report.problems, *unreadable), out.side_ink):
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
    if report.python is not None and report.python.files:
        machines = f"{_files(report.python)}{f' and {machines}' if report.machines else ''}"
    out.say(f"{machines} audited: {', '.join(words)}{unread}")
    if report.silenced or report.known:
        out.say(f"in machines: {report.silenced} silenced with a reason, {report.known} known from the baseline")
    if report.python is not None and report.python.files:
        out.say(_beside(report.python))


def _files(python: PythonReport) -> str:
    return f"{python.files} Python file{'' if python.files == 1 else 's'}"


def _beside(python: PythonReport) -> str:
    """What stands beside the findings, so that silence is not taken for proof."""
    told = [
        f"{python.sources} calls ask a model",
        f"{python.unresolved} calls that its output enters are unresolved (AK902)",
    ]
    told += [f"{python.allowed} writes to logs and proposals (AK901; --all lists them)"] if python.allowed else []
    told += [f"{python.silenced} silenced with a reason"] if python.silenced else []
    told += [f"{python.known} known from the baseline"] if python.known else []
    told += [f"{len(python.problems)} files could not be read"] if python.problems else []
    told += ["NOT FINISHED: raise 'effort' in [tool.mklang.audit], or audit parts"] if not python.finished else []
    return "; ".join(told)


def _python(about: Mapping[str, Any]) -> PythonLooking:
    return PythonLooking(
        everything=about["everything"],
        changed=about["changed"] or "",
        baseline=about["baseline"] or "",
        cached=not about["no_cache"],
    )


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
