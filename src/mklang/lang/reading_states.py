"""Reading a state and its gates: which kind, which policy, and everything about it that does not fit (L5, L6)."""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from typing import TypeVar

from mklang.diagnostics import Severity
from mklang.lang.fields import Fields, Findings, below, read_map, read_value
from mklang.lang.models import (
    Argument,
    Call,
    Condition,
    Escalate,
    Fail,
    FanOut,
    Gate,
    Generative,
    HookCondition,
    Ok,
    Otherwise,
    Over,
    Parse,
    Policy,
    Prose,
    Repair,
    Sample,
    State,
    Tier,
    Tool,
)
from mklang.lang.template import parse_template
from mklang.lang.vocabulary import GATES, KEYS, KEYS_AT, POLICIES, STATES, Place, closest, homes
from mklang.lang.yaml_tree import Entry, Node, Position

_E = TypeVar("_E", bound=Enum)

_STATE_KEYS = {key.name: key for key in KEYS if key.places & STATES}
_GATE_KEYS = {key.name: key for key in KEYS if key.places & GATES}
_FAMILY = {Place.DOCUMENT: KEYS_AT[Place.DOCUMENT], Place.DECLARATION: KEYS_AT[Place.DECLARATION]}
_FAMILY |= dict.fromkeys(STATES, _STATE_KEYS) | dict.fromkeys(GATES, _GATE_KEYS)
_REQUIRED = {place: tuple(key.name for key in KEYS_AT[place].values() if key.required) for place in Place}


def report_unknown(fields: Fields, place: Place) -> set[str]:
    """Report every key that is not known here; the keys that were probably meant are returned."""
    family = _FAMILY[place]
    strangers = fields.entries.keys() - family.keys()
    meant: set[str] = set()
    for name in strangers:
        what = "a state" if place in STATES else "a gate" if place in GATES else place.value
        guess = None if homes(name) else closest(name, KEYS_AT[place]) or closest(name, family)
        if guess and guess not in fields.entries:
            meant.add(guess)
        fields.key_problem("unknown-key", name, f"'{name}' is not a key of {what}", _stranger_hint(name, guess, place))
    return meant


def _stranger_hint(name: str, guess: str | None, place: Place) -> str:
    if guess:
        return f"did you mean '{guess}'?"
    home = homes(name)
    if home:
        return f"it belongs to {home}"
    return "known here: " + ", ".join(KEYS_AT[place])


def read_state(name: str, entry: Entry, findings: Findings, *, lenient: bool) -> State | None:
    """The state called ``name``, or None when something required is missing or wrong."""
    where = below("states", name)
    entries = read_map(entry[1], findings, where, "a state is a map")
    if entries is None:
        return None
    at = Position(entry[1], entry[0])
    fields = Fields(entries, findings, _STATE_KEYS, where=where, at=Position(entry[0]))
    place = _kind(fields, lenient=lenient)
    if place is None:
        return None
    if place is Place.TOOL:
        return _tool(name, fields, at, lenient=lenient)
    if place is Place.CALL:
        return _call(name, fields, at, lenient=lenient)
    return _generative(name, fields, at, lenient=lenient)


def _kind(fields: Fields, *, lenient: bool) -> Place | None:
    """Decide the kind by its marker key (L5) and report the keys of other kinds and those that are missing."""
    entries = fields.entries
    if lenient:
        place = Place.TOOL if "tool" in entries else Place.CALL if "call" in entries else Place.GENERATIVE
        _require(fields, place, set())
        return place
    guess = Place.TOOL if "tool" in entries else Place.CALL if "call" in entries else Place.GENERATIVE
    meant = set() if entries.keys() <= _STATE_KEYS.keys() else report_unknown(fields, guess)
    if "tool" in entries and "call" in entries:
        fields.key_problem("conflicting-keys", "call", "a state calls a tool or a machine, not both")
        return None
    present = entries.keys() | meant
    place = Place.TOOL if "tool" in present else Place.CALL if "call" in present else Place.GENERATIVE
    if place is Place.GENERATIVE and not present & {"structure", "prompt"}:
        fields.findings.add(
            "missing-key",
            "the state does nothing",
            fields.at,
            fields.where,
            hint="give it 'structure' and 'prompt', or 'call', or 'tool'",
        )
        return None
    _report_misplaced(fields, place)
    _require(fields, place, meant)
    return place


def _report_misplaced(fields: Fields, place: Place) -> None:
    for name in fields.entries.keys() - KEYS_AT[place].keys():
        if name in _STATE_KEYS:
            fields.key_problem("wrong-kind", name, f"{place.value} takes no '{name}'", f"it belongs to {homes(name)}")


def _require(fields: Fields, place: Place, meant: set[str]) -> None:
    for name in _REQUIRED[place]:
        if name not in fields.entries and name not in meant:
            fields.missing(name, place.value)


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
    gates = [_gate(node, i, fields.findings, where=f"{where}[{i}]", lenient=lenient) for i, node in enumerate(nodes)]
    whole = [gate for gate in gates if gate is not None]
    return tuple(whole) if len(whole) == len(gates) else None


def _gate(node: Node, index: int, findings: Findings, *, where: str, lenient: bool) -> Gate | None:
    entries = read_map(node, findings, where, "a gate is a map")
    if entries is None:
        return None
    at = Position(node)
    fields = Fields(entries, findings, _GATE_KEYS, where=where, at=at)
    unknown = not lenient and not entries.keys() <= _GATE_KEYS.keys()
    meant = report_unknown(fields, _policy_place(entries)) if unknown else set()
    condition = _condition(fields, meant)
    policy = _policy(fields, meant, lenient=lenient)
    if condition is None or policy is None:
        return None
    return Gate(*condition, policy, index, at)


def _policy_place(names: Container[str]) -> Place:
    """The policy whose keys a gate's reader is told about; without a marker, the one that takes most keys."""
    return next((place for name, place in POLICIES.items() if name in names), Place.ESCALATE)


def _condition(fields: Fields, meant: set[str]) -> tuple[str, Condition] | None:
    when, hook = fields.text("when"), fields.text("hook")
    if "when" not in fields and "when" not in meant:
        fields.missing("when", "a gate", "write the condition, or 'otherwise'")
    if when is None:
        return None
    if when.strip().lower() == "otherwise":
        return when, Otherwise()
    return when, Prose(when) if hook is None else HookCondition(hook)


def _policy(fields: Fields, meant: set[str], *, lenient: bool) -> Policy | None:
    marks = [name for name in fields.entries if name in POLICIES]
    if not marks:
        if not meant & POLICIES.keys():
            fields.findings.add(
                "missing-key",
                "the gate has no policy",
                fields.at,
                fields.where,
                hint="add one of 'then: ok', 'repair: 1', 'escalate: true', 'fail: true'",
            )
        return None
    for name in marks[1:]:
        fields.key_problem("conflicting-keys", name, f"a gate has one policy, and this one already has '{marks[0]}'")
    place = POLICIES[marks[0]]
    if len(marks) == 1:
        _report_foreign(fields, place, meant, lenient=lenient)
    to = fields.text("to")
    return _build_policy(fields, place, to)


def _report_foreign(fields: Fields, place: Place, meant: set[str], *, lenient: bool) -> None:
    allowed = KEYS_AT[place]
    if "to" in fields and "to" not in allowed:
        fields.key_problem("conflicting-keys", "to", "a fail gate stops the run and has no 'to'", "delete one of them")
    elif "to" not in fields and "to" in allowed and "to" not in meant:
        fields.missing("to", place.value, "name a state, or END")
    for name in ("ask", "reply_to"):
        if name in fields and name not in allowed and not lenient:
            fields.key_problem("wrong-kind", name, f"{place.value} takes no '{name}'", f"it belongs to {homes(name)}")


def _build_policy(fields: Fields, place: Place, to: str | None) -> Policy | None:
    if place is Place.FAIL:
        return Fail() if _true(fields, "fail") else None
    if place is Place.OK:
        return Ok(to) if fields.choice("then") and to is not None else None
    if place is Place.REPAIR:
        limit = fields.integer("repair")
        return None if limit is None or to is None else Repair(to, limit)
    ask, reply_to = fields.text("ask"), fields.text("reply_to")
    return Escalate(to, ask, reply_to) if _true(fields, "escalate") and to is not None else None


def _true(fields: Fields, name: str) -> bool:
    value = fields.boolean(name)
    if value is False:
        fields.problem("bad-value", name, f"'{name}' can only be true", hint="delete the line, or write true")
    return value is True
