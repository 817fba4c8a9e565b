"""An author's value in ``context`` is read by nothing.

No placeholder and no hook argument names it, no state writes it and it is not the result. Silent where a gate asks a
hook of the host's own, which might look at any key, unless a key that is read has nearly the same name; and where
nothing provides a key of nearly the same name, which is a finding of its own.

Why: the key is left over or misspelt. Only judges see it, among everything else on the blackboard; where it is meant
for them, that is right, so this is a note (L2, L35).

Fires:
    context: { name: Ada, surname: Lovelace }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { name: Ada }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Delete the key, or read it; the host may provide it, and a judge may need it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mklang.analysis.dataflow import Dataflow, templates_of
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import key_of_context
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity

_BRACES = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"\w+")


def find(subject: Subject) -> Iterator[Finding]:
    """Every such key that is not mentioned in any braces either; ``item`` and ``index`` have rules of their own."""
    data = subject.data
    read = data.used | data.writers.keys() | data.reply_roots | {"item", "index"}
    unread = [key for key in subject.machine.context if key not in read]
    if not unread:
        return
    mentioned = _mentioned(data)
    missing, known = Names(data.used - data.provided), Names(data.used & data.provided)
    for key in unread:
        hint = known.hint(key)
        if key not in mentioned and not missing.hint(key) and (hint or not data.opaque):
            spot = key_of_context(subject.machine, key)
            yield Finding(spot, f"nothing reads '{key}'", hint or "read it, or delete it")


def _mentioned(data: Dataflow) -> set[str]:
    """The words that stand in braces somewhere, as in ``{{name|upper}}``."""
    texts = [template.text for state in data.states for _, template in templates_of(state) if "{" in template.text]
    return {word for text in texts for braces in _BRACES.findall(text) for word in _WORD.findall(braces)}


RULE = Rule(code="context-unread", severity=Severity.NOTE, find=find, basis="L2 L35", page=__doc__)
