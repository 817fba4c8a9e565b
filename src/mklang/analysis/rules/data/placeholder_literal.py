"""A placeholder stands in a text where placeholders are not filled in.

They work in ``prompt``, in ``over`` and in the texts directly under ``input``. ``structure``, ``execution``, ``when``,
``ask``, values nested deeper in ``input`` and the author's values in ``context`` are taken as they are.

Why: the model, the judge or the person reads the braces (L25).

Fires:
    context: { name: "" }
    states:
      write:
        structure: One line for {{name}}.
        prompt: "Say hello to {{name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { name: "" }
    states:
      write:
        structure: One line for the person named.
        prompt: "Say hello to {{name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Move the placeholder into the prompt, or say it in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot, at_read, in_gate, in_machine, in_state
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Escalate, Gate, Generative, Prose, State
from mklang.lang.template import Template, parse_template
from mklang.lang.values import Frozen


def find(subject: Subject) -> Iterator[Finding]:
    """Every such text with a placeholder whose key exists; braces around anything else are taken for prose."""
    data = subject.data
    for state, reads in zip(data.states, data.literal, strict=True):
        for read in {read.face: read for read in reversed(reads) if _known(read.placeholder.root, subject)}.values():
            yield _finding(at_read(subject.source, state, read), read.face[0])
        yield from _in_gates(subject, state)
        yield from _in_input(subject, state)
    for key, value in subject.machine.context.items():
        if any(_mentions(text, subject) for text in _texts(value)):
            yield _finding(in_machine(subject.machine, "context", key), "context")


def _in_gates(subject: Subject, state: State) -> Iterator[Finding]:
    for gate in state.gates:
        for key, text in _gate_texts(gate):
            if _mentions(text, subject):
                yield _finding(in_gate(state, gate, key), key)


def _gate_texts(gate: Gate) -> Iterator[tuple[str, str]]:
    if isinstance(gate.condition, Prose):
        yield "when", gate.when
    if isinstance(gate.policy, Escalate) and gate.policy.ask is not None:
        yield "ask", gate.policy.ask


def _in_input(subject: Subject, state: State) -> Iterator[Finding]:
    if isinstance(state, Generative):
        return
    for argument in state.input:
        value = argument.value
        if not isinstance(value, Template) and any(_mentions(text, subject) for text in _texts(value)):
            yield _finding(in_state(state, "input", argument.name), "a value nested in 'input'")


def _finding(spot: Spot, place: str) -> Finding:
    subject = place if " " in place else f"'{place}'"
    message = f"{subject} is taken as it is: its placeholders are not filled in"
    return Finding(spot, message, "move them into 'prompt', or say it in words")


def _mentions(text: str, subject: Subject) -> bool:
    return "{{" in text and any(_known(found.root, subject) for found in parse_template(text).placeholders)


def _known(root: str, subject: Subject) -> bool:
    return root in subject.data.provided or root in ("item", "index")


def _texts(value: Frozen) -> Iterator[str]:
    waiting: list[Frozen] = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            waiting.extend(found.values())
        elif isinstance(found, tuple):
            waiting.extend(found)


RULE = Rule(code="placeholder-literal", severity=Severity.WARNING, find=find, basis="L25", page=__doc__, strict=True)
