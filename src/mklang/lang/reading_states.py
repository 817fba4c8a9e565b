"""Reading a state: which kind it is, and everything about it that does not fit (L5)."""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from typing import TypeVar

from mklang.diagnostics import Severity
from mklang.lang.fields import Fields
from mklang.lang.findings import Findings, below
from mklang.lang.free_values import read_value
from mklang.lang.models import (
    Argument,
    Call,
    FanOut,
    Gate,
    Generative,
    Over,
    Parse,
    Sample,
    State,
    Tier,
    Tool,
)
from mklang.lang.nodes import read_map
from mklang.lang.reading_gates import read_gate
from mklang.lang.template import parse_template
from mklang.lang.unknown_keys import report_unknown
from mklang.lang.vocabulary import KEYS, KEYS_AT, STATES, Place, homes
from mklang.lang.yaml_tree import Entry, Position

_E = TypeVar("_E", bound=Enum)

_STATE_KEYS = {key.name: key for key in KEYS if key.places & STATES}
_REQUIRED = {place: frozenset(name for name, key in KEYS_AT[place].items() if key.required) for place in STATES}


def read_state(name: str, entry: Entry, findings: Findings, *, lenient: bool) -> State | None:
    """The state called ``name``, or None when something required is missing or wrong."""
    where = below("states", name)
    at = Position(entry[1], entry[0])
    entries = read_map(entry[1], findings, where, "a state is a map", at=at)
    if entries is None:
        return None
    fields = Fields(entries, findings, _STATE_KEYS, where=where, at=Position(entry[0]))
    place = _kind(fields, lenient=lenient)
    if place is Place.TOOL:
        return _tool(name, fields, at, lenient=lenient)
    if place is Place.CALL:
        return _call(name, fields, at, lenient=lenient)
    return _generative(name, fields, at, lenient=lenient)


def _kind(fields: Fields, *, lenient: bool) -> Place:
    """Decide the kind by its marker key (L5) and report keys that are unknown, of another kind, or missing."""
    place = _marked(fields.entries)
    if _REQUIRED[place] <= fields.entries.keys() <= KEYS_AT[place].keys():
        return place
    meant: set[str] = set()
    if not lenient:
        meant = report_unknown(fields, place)
        place = _marked(fields.entries.keys() | meant)
        _report_misplaced(fields, place)
        if place is Place.GENERATIVE and not {"structure", "prompt"} & (fields.entries.keys() | meant):
            hint = "give it 'structure' and 'prompt', or 'call', or 'tool'"
            fields.findings.add("missing-key", "the state does nothing", fields.at, fields.where, hint=hint)
            meant |= {"structure", "prompt"}
    for name in KEYS_AT[place]:
        if name in _REQUIRED[place] and name not in fields.entries and name not in meant:
            fields.missing(name, place.value)
    return place


def _marked(names: Container[str]) -> Place:
    return Place.TOOL if "tool" in names else Place.CALL if "call" in names else Place.GENERATIVE


def _report_misplaced(fields: Fields, place: Place) -> None:
    for name in fields.entries.keys() - KEYS_AT[place].keys():
        if name == "call":
            fields.key_problem("conflicting-keys", name, "a state calls a tool or a machine, not both")
        elif name in _STATE_KEYS:
            fields.key_problem("wrong-kind", name, f"{place.value} takes no '{name}'", f"it belongs to {homes(name)}")


def _generative(name: str, fields: Fields, at: Position, *, lenient: bool) -> Generative | None:
    structure, prompt, output = fields.text("structure"), fields.text("prompt"), fields.text("output")
    gates = _gates(fields, lenient=lenient)
    execution = fields.text("execution")
    tier, parse = _member(fields, "tier", Tier), _member(fields, "parse", Parse)
    reason, accumulate = fields.boolean("reason"), fields.boolean("accumulate")
    fan_out, max_visits = _fan_out(fields), fields.integer("max_visits")
    if structure is None or prompt is None or output is None or gates is None:
        return None
    return Generative(
        id=name,
        structure=structure,
        prompt=parse_template(prompt),
        output=output,
        gates=gates,
        execution=execution,
        tier=tier,
        reason=reason or False,
        parse=parse,
        accumulate=accumulate or False,
        fan_out=fan_out,
        max_visits=max_visits,
        at=at,
    )


def _call(name: str, fields: Fields, at: Position, *, lenient: bool) -> Call | None:
    machine, arguments, output = fields.text("call"), _arguments(fields), fields.text("output")
    gates = _gates(fields, lenient=lenient)
    tier, accumulate = _member(fields, "tier", Tier), fields.boolean("accumulate")
    fan_out, max_visits = _fan_out(fields), fields.integer("max_visits")
    if machine is None or output is None or gates is None:
        return None
    return Call(
        id=name,
        machine=machine,
        output=output,
        gates=gates,
        input=arguments,
        tier=tier,
        accumulate=accumulate or False,
        fan_out=fan_out,
        max_visits=max_visits,
        at=at,
    )


def _tool(name: str, fields: Fields, at: Position, *, lenient: bool) -> Tool | None:
    tool, arguments, output = fields.text("tool"), _arguments(fields), fields.text("output")
    gates = _gates(fields, lenient=lenient)
    accumulate, fan_out, max_visits = fields.boolean("accumulate"), _fan_out(fields), fields.integer("max_visits")
    if tool is None or output is None or gates is None:
        return None
    return Tool(
        id=name,
        tool=tool,
        output=output,
        gates=gates,
        input=arguments,
        accumulate=accumulate or False,
        fan_out=fan_out,
        max_visits=max_visits,
        at=at,
    )


def _member(fields: Fields, name: str, words: type[_E]) -> _E | None:
    word = fields.choice(name)
    return None if word is None else words(word)


def _arguments(fields: Fields) -> tuple[Argument, ...]:
    """The ``input`` of a call or tool: top-level texts are templates, everything else is a literal (L28)."""
    where = below(fields.where, "input")
    found = []
    for name, (_, node) in (fields.mapping("input") or {}).items():
        value = read_value(node, fields.findings, below(where, name))
        found.append(Argument(name, parse_template(value) if isinstance(value, str) else value))
    return tuple(found)


def _fan_out(fields: Fields) -> FanOut | None:
    if "sample" in fields and "over" in fields:
        fields.key_problem("conflicting-keys", "over", "a state has 'sample' or 'over', not both")
    count, text = fields.integer("sample"), fields.text("over")
    if text is None:
        return None if count is None else Sample(count)
    template = parse_template(text)
    found = list(template.placeholders)
    if len(found) != 1:
        what = "holds no placeholder" if not found else "holds more than one placeholder"
        fields.problem("over-expression", "over", f"'over' {what}", hint='write one placeholder, such as "{{items}}"')
        return None
    if template.sole is None:
        message = "'over' is one placeholder; the text around it is ignored"
        fields.problem("over-expression", "over", message, hint="delete the text", severity=Severity.WARNING)
    return Over(text, found[0])


def _gates(fields: Fields, *, lenient: bool) -> tuple[Gate, ...] | None:
    nodes = fields.items("gates")
    if nodes is None:
        return None
    if not nodes:
        fields.problem("bad-value", "gates", "a state needs at least one gate", hint="add one with 'when: otherwise'")
        return None
    where = below(fields.where, "gates")
    gates = [
        read_gate(node, i, fields.findings, where=f"{where}[{i}]", lenient=lenient) for i, node in enumerate(nodes)
    ]
    whole = [gate for gate in gates if gate is not None]
    return tuple(whole) if len(whole) == len(gates) else None
