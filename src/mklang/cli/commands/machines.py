"""``mklang machines``: what can be run or called from here, and who brought it (L114)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.diagnostics import near_miss
from mklang.errors import UsageError
from mklang.host.layers import Origin
from mklang.host.listing import Listed, list_machines

_HEADINGS = {
    Origin.BUNDLED: "come with mklang",
    Origin.PLUGIN: "of plug-ins",
    Origin.SYSTEM: "of this system",
    Origin.USER: "of yours",
    Origin.PROJECT: "of this folder",
}


@click.command(short_help="List the machines that can be run or called from here.")
@click.argument("name", required=False)
@click.option("--dir", "folder", metavar="DIR", help="The project's folder; else the working directory.")
@output_options(json_when_piped=True)
def command(name: str | None, folder: str | None, out: Output) -> int:
    """List the machines that can be run or called from here, with who brought them; with NAME, say more about one.

    Of two with the same name the nearer one counts: the project's, yours, the system's, the one that comes with mklang.
    """
    found = list_machines(folder)
    if name is not None:
        chosen = [one for one in found if one.name == name]
        if not chosen:
            hint = near_miss(name, [one.name for one in found]) or "'mklang machines' lists all"
            raise UsageError(f"there is no machine '{name}' here; {hint}")
        found = chosen
    if out.json:
        out.wire([one.to_wire() for one in found])
        return ExitCode.OK
    for line in _detail(found[0], out) if name is not None else _list(found, out):
        out.say(line)
    for one in found:
        for line in draw(one.problems, out.side_ink):
            out.aside(line)
    return ExitCode.OK


def _list(found: Sequence[Listed], out: Output) -> Iterator[str]:
    width = max((len(one.name) for one in found), default=0)
    room = None if out.ink.width is None else max(20, out.ink.width - width - 4)
    for origin in reversed(Origin):
        group = [one for one in found if one.origin is origin]
        if not group:
            continue
        yield out.ink(_HEADINGS[origin], bold=True)
        for one in group:
            about = "cannot be read" if one.machine is None else one.purpose
            hidden = "(hidden by a nearer one) " if one.hidden else ""
            yield f"  {one_line(one.name):<{width}}  {out.ink(one_line(hidden + about, room), dim=True)}"
    yield ""
    yield "mklang machines NAME says what one takes, mklang run NAME runs it, mklang new MY_NAME --from NAME copies it"


def _detail(one: Listed, out: Output) -> Iterator[str]:
    yield f"{out.ink(one_line(one.name), bold=True)} ({_HEADINGS[one.origin]}): {one_line(one.about)}"
    yield f"  file    {one_line(str(one.path))}"
    if one.machine is None:
        return
    for number, (key, value) in enumerate(one.inputs.items()):
        text = "" if value in ("", None, []) else f" (else {one_line(json.dumps(value, ensure_ascii=False), 90)})"
        yield f"  {'' if number else 'takes':<7} {one_line(key)}{text}"
    yield f"  result  {one_line(one.machine.result or 'what its last state gives')}"
    yield f"  states  {' · '.join(one_line(state) for state in one.machine.states)}"
    first = next(iter(one.inputs), None)
    yield f"  run     mklang run {_called(one)}" + (f' --set {one_line(first)}="…"' if first else "")


def _called(one: Listed) -> str:
    return one_line(str(one.path)) if one.origin is Origin.PROJECT else one_line(one.name)
