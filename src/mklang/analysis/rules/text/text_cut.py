"""An unquoted text ends where YAML saw a comment.

In a text without quotes, a ``#`` after a space begins a comment. ``lacks ## sections`` is the text ``lacks``. A ``#``
right before a word or a number is reported as a finding. One before a space is a note if a single space stands before
it; with two or more it looks like a comment that was meant. Inside a word, as in ``C#``, it is text.

Why: the judge or the model gets half of what was written, and nothing else shows that (L16, F1, W44).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - when: it does not answer issue #42
            repair: 1
            to: write
          - { when: otherwise, then: ok, to: END }

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - when: "it does not answer issue #42"
            repair: 1
            to: write
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. Quote the text, or put two spaces before a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mklang.analysis.prose import passages
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.subject import Subject
from mklang.analysis.texts import rest_of_line
from mklang.diagnostics import Severity

_COMMENT = re.compile(r"([ \t]+)#+(.?)")


def find(subject: Subject) -> Iterator[Finding]:
    """Every unquoted text for a reader that a comment follows on its line."""
    if subject.source is None or "#" not in subject.source.text:
        return
    for text in passages(subject.machine):
        if not isinstance(text.value, str):
            continue
        raw = text.at.raw(*text.path)
        match = (
            _COMMENT.match(rest_of_line(subject.source, text.at, *text.path)) if raw and raw.style == "plain" else None
        )
        if match is None:
            continue
        glued = match.group(2).strip() != "" or match.group().strip() != "#"
        if glued or len(match.group(1)) == 1:
            message = f"YAML cuts this text at '#': it ends with '{text.value[-30:]}'"
            hint = "quote the text, or put two spaces before the comment"
            yield Finding(text.spot, message, hint, None if glued else Severity.NOTE)


RULE = Rule(code="text-cut", severity=Severity.WARNING, find=find, basis="L16 F1", page=__doc__, strict=True)
