"""A declared tool or hook is used nowhere in the machine.

Silent for a block while something is used that it does not list: that is probably the same name, misspelt.

Why: whoever runs the machine provides what the ``tools`` and ``hooks`` blocks list. A name that nothing uses makes
them provide too much, a write permission for instance; or it is what a misspelt name elsewhere should have been (L8).

Fires:
    tools: [{ name: search }, { name: send_reply }]
    states:
      find:
        tool: search
        input: { query: opening hours }
        output: hits
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    tools: [{ name: search }]
    states:
      find:
        tool: search
        input: { query: opening hours }
        output: hits
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: safe. Delete the declaration: it binds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_declaration
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.comparisons import is_comparison
from mklang.lang.models import HookCondition, Machine, Tool
from mklang.source import Edit, Fix, Span


def find(subject: Subject) -> Iterator[Finding]:
    """Every declaration without a use."""
    machine, states = subject.machine, subject.graph.states
    tools = {state.tool for state in states if isinstance(state, Tool)}
    conditions = [gate.condition for state in states for gate in state.gates] if machine.hooks else []
    hooks = {condition.name for condition in conditions if isinstance(condition, HookCondition)}
    hooks = {name for name in hooks if not is_comparison(name)}
    for block, declarations, used in (("tools", machine.tools, tools), ("hooks", machine.hooks, hooks)):
        if used - {declaration.name for declaration in declarations}:
            continue
        whole = all(declaration.name not in used for declaration in declarations)
        for number, declaration in enumerate(declarations):
            if declaration.name not in used:
                message = f"'{declaration.name}' is declared in '{block}' and not used"
                span = _block(machine, block) if whole else declaration.at.span
                fix = Fix("delete the declaration", Edit(span, "", whole_lines=True)) if span else None
                yield Finding(in_declaration(block, number, declaration), message, "delete it", fix=fix)


def _block(machine: Machine, block: str) -> Span | None:
    """The whole block, its key included: a list must not be left empty."""
    key, value = machine.at.key(block), machine.at.value(block)
    return Span(key.line, key.column, value.end_line, value.end_column) if key and value else None


RULE = Rule(code="declaration-unused", severity=Severity.NOTE, find=find, basis="L8", page=__doc__)
