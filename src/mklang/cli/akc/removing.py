"""What is said after something was taken out of layer 2."""

from __future__ import annotations

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line
from mklang.knowledge.acting import Done


def tell_removals(command: str, done: Done, out: Output) -> int:
    """Say what is gone and which rules are up for removal."""
    gone = ", ".join(done.gone)
    if out.json:
        proposals = [one.id for one in done.proposals]
        wire = {"gone": list(done.gone), "proposals": proposals, "problems": list(done.problems)}
        out.wire({"command": f"akc knowledge {command}", "ok": not done.problems, **wire})
        return ExitCode.FAILED if done.problems else ExitCode.OK
    out.say(f"{len(done.gone)} pattern{'' if len(done.gone) == 1 else 's'} gone{f': {gone}' if gone else ''}")
    for one in done.proposals:
        out.say(f"  a rule in {one_line(one.target)} rests on that; its removal waits: mklang akc review {one.id}")
    for problem in done.problems:
        out.aside(one_line(problem))
    return ExitCode.FAILED if done.problems else ExitCode.OK
