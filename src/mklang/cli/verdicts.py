"""How played scenarios and cases are told to a person: one line each, what differs below it, the count at the end."""

from __future__ import annotations

from collections.abc import Sequence

from mklang.cli.output import Output, one_line
from mklang.testing.playing import Played


def tell(played: Sequence[Played], out: Output, what: str) -> None:
    """Print the outcomes in order, and the count (L110); ``what`` is the word for one of them."""
    tell_each(played, out)
    passed, total = sum(one.passed for one in played), len(played)
    out.say(f"{total} {what}{'' if total == 1 else 's'}: {passed} passed, {total - passed} failed")


def tell_each(played: Sequence[Played], out: Output) -> None:
    """Print the outcomes in order."""
    for one in played:
        word = out.ink("PASS", "green", bold=True) if one.passed else out.ink("FAIL", "red", bold=True)
        out.say(f"{word} {one_line(one.name)}")
        for mismatch in one.mismatches:
            out.say(f"  mismatch: {one_line(str(mismatch))}")
