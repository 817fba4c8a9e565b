"""From a document to a typed machine, or to every problem that stands in the way (L1-L9, W39).

Reading decides what a document *is*: keys, types, kinds, policies. What it *means* (do targets exist, can the end be
reached) is the analysis' business. Nothing here raises except the ``load`` functions at the end.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mklang.diagnostics import Diagnostic, has_errors
from mklang.errors import DocumentError
from mklang.lang.fields import Fields
from mklang.lang.files import read_source
from mklang.lang.findings import Findings, below
from mklang.lang.json_text import to_json_text
from mklang.lang.models import END, Declaration, Machine, State, Tier
from mklang.lang.nodes import describe, read_map
from mklang.lang.reading_states import read_state
from mklang.lang.unknown_keys import report_unknown
from mklang.lang.vocabulary import KEYS_AT, Place
from mklang.lang.yaml_tree import Entry, Node, Position, compose, garbage_collection_paused
from mklang.source import Source

_KEYS = KEYS_AT[Place.DOCUMENT]


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a document gave: the machine, unless there is an error among the ``diagnostics``."""

    machine: Machine | None
    diagnostics: tuple[Diagnostic, ...] = ()


def read_file(path: str | os.PathLike[str], *, lenient: bool = False) -> Reading:
    """Read the machine in a file. A file that cannot be opened or decoded is a diagnostic like any other."""
    source, problems = read_source(path)
    return Reading(None, problems) if source is None else read_machine(source, lenient=lenient)


def read_machine(source: Source, *, lenient: bool = False) -> Reading:
    """Read a whole document. ``lenient`` is for conformance cases only (L5): unknown keys are ignored."""
    with garbage_collection_paused():
        root, problems = compose(source)
        if problems:
            return Reading(None, problems)
        if root is None:
            found = Diagnostic(code="not-a-machine", message="the document is empty", path=source.name)
            return Reading(None, (found,))
        return read_machine_node(root, source, lenient=lenient)


def read_machine_node(node: Node, source: Source, *, lenient: bool = False) -> Reading:
    """Read a machine that stands at ``node`` of a larger document that ``compose`` has read (L94)."""
    findings = Findings(source.name)
    machine = _machine(node, findings, source.name, lenient=lenient)
    diagnostics = findings.everything()
    return Reading(None if has_errors(diagnostics) else machine, diagnostics)


def load_machine(path: str | os.PathLike[str], *, lenient: bool = False) -> Machine:
    """The machine in a file; raises ``DocumentError`` with all diagnostics when there is an error among them."""
    return _require(read_file(path, lenient=lenient))


def machine_from_text(text: str, name: str = "<text>", *, lenient: bool = False) -> Machine:
    """The machine in a text; raises ``DocumentError`` with all diagnostics when there is an error among them."""
    return _require(read_machine(Source(name, text), lenient=lenient))


def machine_from_mapping(document: Mapping[str, object], name: str = "<mapping>", *, lenient: bool = False) -> Machine:
    """The machine in a mapping of plain JSON values; raises ``DocumentError``, placed in the mapping's JSON text."""
    return _require(read_machine(Source(name, to_json_text(document, name)), lenient=lenient))


def _require(reading: Reading) -> Machine:
    if reading.machine is None:
        raise DocumentError(reading.diagnostics)
    return reading.machine


def _machine(node: Node, findings: Findings, name: str, *, lenient: bool) -> Machine | None:
    if describe(node) != "a map":
        message = f"a machine is a map, and this is {describe(node)}"
        findings.add("not-a-machine", message, Position(node), hint="begin with 'machine:', 'entry:', 'budget:', …")
        return None
    entries = read_map(node, findings, "", "")
    if entries is None:
        return None
    start = Position(next(iter(entries.values()))[0]) if entries else Position(node)
    fields = Fields(entries, findings, _KEYS, where="", at=start)
    meant: set[str] = set() if lenient else report_unknown(fields, Place.DOCUMENT)
    for key in _KEYS.values():
        if key.required and key.name not in entries and key.name not in meant:
            fields.missing(key.name, "a machine")
    tier = fields.choice("default_tier")
    version = fields.text("mklang")
    machine, entry, budget = fields.text("machine"), fields.text("entry"), fields.integer("budget")
    result, context = fields.text("result"), fields.values("context")
    tools, hooks = (_declarations(fields, name, lenient=lenient) for name in ("tools", "hooks"))
    states = _states(fields, lenient=lenient)
    if machine is None or entry is None or budget is None or states is None:
        return None
    return Machine(
        name=machine,
        entry=entry,
        budget=budget,
        states=states,
        default_tier=Tier(tier) if tier else Tier.BALANCED,
        result=result,
        context=context or MappingProxyType({}),
        tools=tools,
        hooks=hooks,
        version=version or None,
        source_name=name,
        at=Position(node),
    )


def _declarations(fields: Fields, name: str, *, lenient: bool) -> tuple[Declaration, ...]:
    found = []
    for index, node in enumerate(fields.items(name) or ()):
        where = f"{name}[{index}]"
        entries = read_map(node, fields.findings, where, "a declaration is a map with 'name'")
        if entries is None:
            continue
        inner = Fields(entries, fields.findings, KEYS_AT[Place.DECLARATION], where=where, at=Position(node))
        meant: set[str] = set() if lenient else report_unknown(inner, Place.DECLARATION)
        label = inner.text("name")
        if "name" not in entries and "name" not in meant:
            inner.missing("name", "a declaration")
        description = inner.text("description")
        found.append(Declaration(label or "", description or "", Position(node)))
    return tuple(found)


def _states(fields: Fields, *, lenient: bool) -> Mapping[str, State] | None:
    entries = fields.mapping("states")
    if entries is None:
        return None
    if not entries:
        fields.problem("bad-value", "states", "a machine needs at least one state")
    states: dict[str, State] = {}
    for name, entry in entries.items():
        where = below("states", name)
        _check_id(name, entry, fields.findings, where)
        state = read_state(name, entry, fields.findings, lenient=lenient)
        if state is not None:
            states[name] = state
    return MappingProxyType(states)


def _check_id(name: str, entry: Entry, findings: Findings, where: str) -> None:
    if not name.strip():
        findings.add("bad-value", "a state's id must not be empty", Position(entry[0]), where)
    elif name == END:
        message = "a state cannot be called 'END': gates that go to END end the run"
        findings.add("bad-value", message, Position(entry[0]), where, hint="give it another name")
