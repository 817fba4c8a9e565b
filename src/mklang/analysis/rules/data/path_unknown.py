"""A placeholder leads into an author's value, or to a person's reply, where there is no such key.

The value stands in ``context`` and no state replaces it, or the root is one that only replies are put at. Lists have
no keys, and neither have texts and numbers; an empty text or null is taken for a place that the host fills.

Why: a path that leads nowhere is empty text and no error (L16, F12; L24).

Fires:
    context: { user: { name: Ada, city: London } }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{user.nmae}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { user: { name: Ada, city: London } }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{user.name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest key; a key that only the host provides belongs into the map with an empty
value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import at_read
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names, listed
from mklang.diagnostics import Severity
from mklang.lang.values import Frozen, type_name

_WORDS = {"number": "a number", "boolean": "a boolean", "list": "a list"}
_HINTS = {"list": "elements of a list cannot be named: read it whole, or fan out with 'over'"}


def find(subject: Subject) -> Iterator[Finding]:
    """The first placeholder of each path in each state that an author's value cannot satisfy."""
    data, context = subject.data, subject.machine.context
    for state, reads in zip(data.states, data.reads, strict=True):
        seen: set[str] = set()
        for read in reads:
            found = read.placeholder
            root = found.root
            if len(found.keys) == 1 or root in data.writers or found.path in seen or not all(found.keys):
                continue
            seen.add(found.path)
            if _is_reply(found.keys, data.replies):
                continue
            problem = _follow(context[root], found.keys) if root in context else _no_reply(found.keys, data.replies)
            if problem is not None:
                yield Finding(at_read(subject.source, state, read), *problem)


def _is_reply(keys: tuple[str, ...], replies: frozenset[tuple[str, ...]]) -> bool:
    """Whether a person's reply may stand on, above or below this path (W45)."""
    return any(path[: len(keys)] == keys[: len(path)] for path in replies)


def _no_reply(keys: tuple[str, ...], replies: frozenset[tuple[str, ...]]) -> tuple[str, str] | None:
    paths = [".".join(path) for path in sorted(replies) if path[0] == keys[0]]
    way = ".".join(keys)
    return (f"no reply goes to '{way}'", Names(paths).hint(way, f"replies go to {listed(paths)}")) if paths else None


def _follow(value: Frozen, keys: tuple[str, ...]) -> tuple[str, str] | None:
    """Where the path breaks off, as a message and a hint; None when it leads somewhere, or may."""
    way = keys[0]
    for key in keys[1:]:
        if value is None or value == "":
            return None
        if not isinstance(value, Mapping):
            kind = type_name(value)
            return f"'{way}' in 'context' has no keys: it is {_WORDS.get(kind, kind)}", _HINTS.get(
                kind, "read it whole"
            )
        if key not in value:
            return f"'{way}' in 'context' has no key '{key}'", Names(value).hint(key, "add it there")
        value, way = value[key], f"{way}.{key}"
    return None


RULE = Rule(code="path-unknown", severity=Severity.WARNING, find=find, basis="L16 F12", page=__doc__, strict=True)
