r"""A ``\n`` in a text that YAML takes literally.

Only double quotes turn ``\n`` into a line break. Without quotes, in single quotes and in a block it stays a backslash
and a letter.

Why: the model reads ``\n`` in the middle of its instructions. Where the text is about such escapes, that is right; so
this is a note.

Fires:
    states:
      write:
        structure: Two lines.
        prompt: Say hello.\nSay goodbye.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: Two lines.
        prompt: |
          Say hello.
          Say goodbye.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Use double quotes or a block, unless the backslash is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.prose import passages
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    r"""Every text for a reader, not in double quotes, that holds the two characters ``\n``."""
    if subject.source is not None and "\\n" not in subject.source.text:
        return
    for text in passages(subject.machine):
        if not isinstance(text.value, str) or "\\n" not in text.value:
            continue
        raw = text.at.raw(*text.path)
        if raw is not None and raw.style != "double":
            message = r"'\n' stays a backslash and a letter here"
            yield Finding(text.spot, message, "use double quotes, or a block with '|'")


RULE = Rule(code="backslash-literal", severity=Severity.NOTE, find=find, basis="L1", page=__doc__)
