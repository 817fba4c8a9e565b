"""``mklang akc gate``: the hook of a coding agent, and of git. Whatever goes wrong in it is a no."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import complain
from mklang.knowledge.gate import AgentGate
from mklang.knowledge.home import Home, find_home

_HOOK = """\
{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "mklang akc gate"}]}]}}"""
_GIT = "#!/bin/sh\nexec mklang akc gate --git\n"


@click.command(short_help="Refuse an agent's direct writes to rules, control and evidence files.")
@click.option("--git", "at_commit", is_flag=True, help="Look at what is staged instead: for a pre-commit hook.")
@click.option("--print-hook", type=click.Choice(["claude-code", "git"]), help="Print what sets the hook up.")
@click.pass_obj
def command(told: str | None, *, at_commit: bool, print_hook: str | None) -> int:
    """Read a pre-tool-use event on stdin and refuse what would write a guarded file directly: exit code 0 with the
    refusal as JSON, or nothing where there is nothing to refuse; 2, which agents take for a refusal, when the event
    cannot be read.

    With --git, refuse a commit whose rules and control files are not as a person approved them; for an agent, evidence
    files too.
    """
    if print_hook:
        click.echo(_HOOK if print_hook == "claude-code" else _GIT, nl=print_hook != "git")
        return ExitCode.OK
    try:
        return _at_commit(told) if at_commit else _before_a_tool(told)
    except Exception as error:  # noqa: BLE001 - a hook that crashes lets everything pass; this one refuses
        complain(f"the gate refuses what it cannot look at: {error}")
        return ExitCode.UNUSABLE


def _gate(home: Home) -> AgentGate:
    project, root = home.project.resolve(), home.root.resolve()
    if not home.config.exists():
        return AgentGate(project=project, home=root)
    from mklang.knowledge.config import read_config  # an agent waits for this command: what is not needed is not loaded

    config = read_config(home)
    return AgentGate(project=project, home=root, stakes=frozenset(config.gate), open_=config.open)


def _home(told: str | None) -> Home:
    return find_home(Path.cwd(), told or os.environ.get("MKLANG_AKC"))


def _before_a_tool(told: str | None) -> int:
    event = json.load(sys.stdin)
    if not isinstance(event, dict):
        raise ValueError("a hook's event is an object")
    if told is None and event.get("cwd"):
        os.chdir(Path(str(event["cwd"])))
    refusal = _gate(_home(told)).refuse(event)
    if refusal is not None:
        decision = {"permissionDecision": "deny", "permissionDecisionReason": str(refusal)}
        click.echo(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}))
    return ExitCode.OK


def _at_commit(told: str | None) -> int:
    from mklang.host.akc import open_cycle
    from mklang.knowledge.git_gate import staged, unapproved
    from mklang.knowledge.terminal import agent_in

    cycle = open_cycle(told)
    gate = _gate(cycle.home)
    by_agent = agent_in(os.environ) not in {None, "CI"}
    found = list(unapproved(gate, cycle.ledger().rows, staged(gate.project), by_agent=by_agent))
    for problem in found:
        complain(problem)
    return ExitCode.FAILED if found else ExitCode.OK
