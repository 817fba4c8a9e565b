"""Reading a gate: its condition, its one policy, and everything about it that does not fit (L6, L7)."""

from __future__ import annotations

from mklang.lang.fields import Fields
from mklang.lang.findings import Findings
from mklang.lang.models import Condition, Escalate, Fail, Gate, HookCondition, Ok, Otherwise, Policy, Prose, Repair
from mklang.lang.nodes import read_map
from mklang.lang.unknown_keys import report_unknown
from mklang.lang.vocabulary import GATES, KEYS, KEYS_AT, POLICIES, Place, homes
from mklang.lang.yaml_tree import Node, Position

_GATE_KEYS = {key.name: key for key in KEYS if key.places & GATES}
_REQUIRED = {place: frozenset(name for name, key in KEYS_AT[place].items() if key.required) for place in GATES}
_OTHERWISE = Otherwise()


def read_gate(node: Node, index: int, findings: Findings, *, where: str, lenient: bool) -> Gate | None:
    """The gate at ``node``, or None when something required is missing or wrong."""
    entries = read_map(node, findings, where, "a gate is a map")
    if entries is None:
        return None
    at = Position(node)
    fields = Fields(entries, findings, _GATE_KEYS, where=where, at=at)
    place = next((POLICIES[name] for name in entries if name in POLICIES), None)
    if place is None or not (_REQUIRED[place] <= entries.keys() <= KEYS_AT[place].keys()):
        _report_keys(fields, place, lenient=lenient)
    when, hook, to = fields.text("when"), fields.text("hook"), fields.text("to")
    policy = _policy(fields, place, to) if place else None
    if when is None or policy is None:
        return None
    return Gate(when, _condition(when, hook), policy, index, at)


def _condition(when: str, hook: str | None) -> Condition:
    if when.strip().lower() == "otherwise":
        return _OTHERWISE
    return Prose(when) if hook is None else HookCondition(hook)


def _policy(fields: Fields, place: Place, to: str | None) -> Policy | None:
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


def _report_keys(fields: Fields, place: Place | None, *, lenient: bool) -> None:
    """Say which keys are unknown, missing, or do not go together. Without a marker, escalate takes most keys."""
    meant = set() if lenient else report_unknown(fields, place or Place.ESCALATE)
    if not {"when"} & (fields.entries.keys() | meant):
        fields.missing("when", "a gate", "write the condition, or 'otherwise'")
    marks = [name for name in fields.entries if name in POLICIES]
    if place is None:
        if not meant & POLICIES.keys():
            hint = "add one of 'then: ok', 'repair: 1', 'escalate: true', 'fail: true'"
            fields.findings.add("missing-key", "the gate has no policy", fields.at, fields.where, hint=hint)
        return
    for name in marks[1:]:
        message = f"a gate has one policy, and this one already has '{marks[0]}'"
        fields.key_problem("conflicting-keys", name, message, "delete one of them")
    if len(marks) == 1:
        _report_foreign(fields, place, meant, lenient=lenient)


def _report_foreign(fields: Fields, place: Place, meant: set[str], *, lenient: bool) -> None:
    allowed = KEYS_AT[place]
    if "to" in fields and "to" not in allowed:
        fields.key_problem("conflicting-keys", "to", "a fail gate stops the run and has no 'to'", "delete one of them")
    elif "to" not in fields and "to" in allowed and "to" not in meant:
        fields.missing("to", place.value, "name a state, or END")
    for name in ("ask", "reply_to"):
        if name in fields and name not in allowed and not lenient:
            fields.key_problem("wrong-kind", name, f"{place.value} takes no '{name}'", f"it belongs to {homes(name)}")
