"""``mklang explain``: what a code of ``check`` and ``lint`` means, why it matters, and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click

from mklang.analysis.explain import Explanation, explain, explain_all
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, output_options

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_WIDTH = 88


@click.command(short_help="What a code of check and lint means, and what to do.")
@click.argument("codes", nargs=-1, metavar="[CODE...]")
@output_options(json_when_piped=False)
def command(codes: Sequence[str], *, out: Output) -> int:
    """Explain codes of check and lint: what is found, why it matters to a run, an example and its repair.

    Without a code, list them all.
    """
    found = [explain(code) for code in dict.fromkeys(codes)] or list(explain_all())
    if out.json:
        out.wire(envelope("explain", ok=True, items=[one.to_wire() for one in found], summary={"codes": len(found)}))
        return ExitCode.OK
    for line in _pages(found, out) if codes else _list(found, out):
        out.say(line)
    return ExitCode.OK


def _list(found: Sequence[Explanation], out: Output) -> Iterator[str]:
    width = max(len(one.code) for one in found)
    family = ""
    for one in found:
        if one.family != family:
            yield from ([""] if family else [])
            family = one.family
            yield out.ink(family, bold=True)
        yield f"  {out.ink(one.code.ljust(width), _COLOURS[one.severity])}  {_plain(one.summary)}"


def _pages(found: Sequence[Explanation], out: Output) -> Iterator[str]:
    for number, one in enumerate(found):
        yield from ([""] if number else [])
        yield f"{out.ink(one.code, bold=True)} ({out.ink(one.severity, _COLOURS[one.severity])}, {one.family})"
        yield from _prose(one.summary)
        yield from _prose(one.more)
        yield from _prose(f"Why: {one.why}" if one.why else "")
        yield from _example("Fires:", one.fires, out)
        yield from _example("Repaired:", one.repaired, out)
        yield from _prose(one.fix)
        yield from _prose(f"It follows from {one.basis} of the language." if one.basis else "")


def _prose(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            yield ""
            yield from textwrap.wrap(_plain(paragraph), _WIDTH, break_long_words=False, break_on_hyphens=False)


def _example(title: str, text: str, out: Output) -> Iterator[str]:
    if text:
        yield from ("", title)
        yield from (out.ink(f"    {line}" if line else "", dim=True) for line in text.splitlines())


def _plain(text: str) -> str:
    """Prose without its marks: code stands in quotes."""
    return " ".join(text.replace("``", "'").replace("`", "'").split())
