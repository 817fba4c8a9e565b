"""A placeholder reads an output that no state can have written yet.

Some state writes the key, but on no way from the entry to this one; and ``context`` does not begin it.

Why: it is empty text whenever the state runs, so the model is asked a question with a hole in it (L24).

Fires:
    states:
      write:
        structure: One line.
        prompt: "Say hello. Keep to this style: {{style}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: describe }]
      describe:
        structure: One line.
        prompt: "Describe the style of: {{greeting}}"
        output: style
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      describe:
        structure: One line.
        prompt: Describe a friendly style.
        output: style
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        structure: One line.
        prompt: "Say hello. Keep to this style: {{style}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Change the order of the states, or declare the key in ``context`` if the host provides it.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.liveness import never_written_before
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import at_read
from mklang.analysis.subject import Subject
from mklang.analysis.words import listed
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The first such placeholder of each key in each reachable state."""
    graph, data = subject.graph, subject.data
    late = data.used & data.writers.keys() - data.context - data.reply_roots
    for number, key in never_written_before(graph, data, sorted(late)):
        state = graph.states[number]
        read = next(read for read in data.reads[number] if read.placeholder.root == key)
        writers = listed([graph.states[writer].id for writer in data.writers[key]])
        message = f"'{key}' is not written yet on any way here: only {writers} writes it"
        yield Finding(at_read(subject.source, state, read), message, "change the order, or begin it in 'context'")


RULE = Rule(code="placeholder-early", severity=Severity.NOTE, find=find, basis="L24", page=__doc__)
