"""Outcomes as JUnit XML, the form in which CI servers read tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from mklang.testing.playing import Played

# What XML 1.0 cannot hold, not even as a reference.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Group:
    """The scenarios of one script. ``problems`` say why none was played; ``seconds`` is how long playing took."""

    name: str
    played: Sequence[Played]
    problems: Sequence[str] = ()
    seconds: float = 0.0


def to_junit(groups: Sequence[Group]) -> str:
    """The XML document."""
    tests = sum(len(group.played) or len(group.problems[:1]) for group in groups)
    failures = sum(not one.passed for group in groups for one in group.played)
    errors = sum(bool(group.problems) for group in groups)
    seconds = sum(group.seconds for group in groups)
    head = f'name="mklang" tests="{tests}" failures="{failures}" errors="{errors}" time="{seconds:.3f}"'
    return "\n".join(
        ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites {head}>", *map(_suite, groups), "</testsuites>", ""]
    )


def _suite(group: Group) -> str:
    failures, errors = sum(not one.passed for one in group.played), int(bool(group.problems))
    counts = f'tests="{len(group.played) or errors}" failures="{failures}" errors="{errors}"'
    lines = [f'  <testsuite name={_attribute(group.name)} {counts} skipped="0" time="{group.seconds:.3f}">']
    lines += [_case(one, group.name) for one in group.played]
    if group.problems:
        message, text = _attribute(group.problems[0]), _text("\n".join(group.problems))
        case = f'    <testcase name="(not played)" classname={_attribute(group.name)} time="0">'
        lines.append(f"{case}\n      <error message={message}>{text}</error>\n    </testcase>")
    return "\n".join([*lines, "  </testsuite>"])


def _case(one: Played, group: str) -> str:
    head = f'    <testcase name={_attribute(one.name)} classname={_attribute(group)} time="0"'
    if one.passed:
        return f"{head}/>"
    mismatches = [str(mismatch) for mismatch in one.mismatches]
    failure = f"<failure message={_attribute(mismatches[0])}>{_text(chr(10).join(mismatches))}</failure>"
    return f"{head}>\n      {failure}\n    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))
