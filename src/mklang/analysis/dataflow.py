"""Who writes and who reads the blackboard, read off the document once: templates, hook arguments, outputs, reply paths.

A read is one that names its key. That a judge sees the whole blackboard (L35) and a host's own hook might look at any
key is not counted: neither says what the author meant to use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mklang.lang.effects import keys_read
from mklang.lang.models import (
    Escalate,
    Gate,
    Generative,
    HookCondition,
    Machine,
    Over,
    Prose,
    Sample,
    State,
)
from mklang.lang.template import Placeholder, Template, parse_template

REPLY = ("human", "reply")
"""Where a person's reply goes when the gate does not say (L89)."""

_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Read:
    """A placeholder that is filled in during a run, and the key of the state whose text it stands in."""

    placeholder: Placeholder
    face: tuple[str, ...]


def reads_of(state: State) -> Iterator[Read]:
    """Every placeholder of a state that a run fills in (L25), repeats included."""
    for face, template in templates_of(state):
        for part in template.parts:
            if isinstance(part, Placeholder):
                yield Read(part, face)
    if isinstance(state.fan_out, Over):
        yield Read(state.fan_out.items, ("over",))


def templates_of(state: State) -> Iterator[tuple[tuple[str, ...], Template]]:
    """The texts of a state whose placeholders are filled in, apart from ``over``, each with the key it stands at."""
    if isinstance(state, Generative):
        yield ("prompt",), state.prompt
        return
    for argument in state.input:
        if isinstance(argument.value, Template):
            yield ("input", argument.name), argument.value


def _literal_of(state: State) -> Iterator[Read]:
    if isinstance(state, Generative):
        for face, text in (("structure", state.structure), ("execution", state.execution)):
            if text and "{{" in text:
                for placeholder in parse_template(text).placeholders:
                    yield Read(placeholder, (face,))


def is_branch_variable(read: Read, state: State) -> bool:
    """Whether the placeholder reads the branch's own ``item`` or ``index`` (L29); ``over`` itself stands outside."""
    if read.face == ("over",) or state.fan_out is None:
        return False
    return read.placeholder.root in ("item", "index") and not (
        read.placeholder.root == "item" and isinstance(state.fan_out, Sample)
    )


def reply_path(policy: Escalate) -> tuple[str, ...]:
    """Where a person's reply to an escalate gate goes."""
    return tuple(policy.reply_to.split(".")) if policy.reply_to else REPLY


@dataclass(frozen=True)
class Dataflow:
    """The reads and writes of one machine, states by number in document order."""

    states: tuple[State, ...]
    context: frozenset[str]
    result: str | None

    @cached_property
    def reads(self) -> tuple[tuple[Read, ...], ...]:
        """For each state, the placeholders that are filled in from the blackboard, branch variables left out."""
        return tuple(
            [tuple([read for read in reads_of(state) if not is_branch_variable(read, state)]) for state in self.states]
        )

    @cached_property
    def writers(self) -> Mapping[str, tuple[int, ...]]:
        """Each output key and the states that write it."""
        found: dict[str, list[int]] = {}
        for number, state in enumerate(self.states):
            found.setdefault(state.output, []).append(number)
        return {key: tuple(numbers) for key, numbers in found.items()}

    @cached_property
    def replies(self) -> frozenset[tuple[str, ...]]:
        """The paths people's replies go to, the default one included (W45)."""
        policies = [gate.policy for state in self.states for gate in state.gates]
        return frozenset(reply_path(policy) for policy in policies if isinstance(policy, Escalate)) | {REPLY}

    @cached_property
    def reply_roots(self) -> frozenset[str]:
        """The top-level keys of those paths."""
        return frozenset(path[0] for path in self.replies)

    @cached_property
    def provided(self) -> frozenset[str]:
        """Every top-level key that something in the document provides."""
        return self.context | self.writers.keys() | self.reply_roots

    @cached_property
    def hook_keys(self) -> tuple[frozenset[str], ...]:
        """For each state, the keys its gates' hooks look at, as far as their names tell (W47)."""
        return tuple([frozenset(_hook_keys(state)) for state in self.states])

    @cached_property
    def used(self) -> frozenset[str]:
        """Every key that some placeholder, hook argument or ``result`` names.

        A placeholder in ``structure`` counts: that it is not filled in is a finding of its own.
        """
        named = {read.placeholder.root for reads in self.reads for read in reads}
        named.update(*self.hook_keys)
        named.update(read.placeholder.root for reads in self.literal for read in reads)
        if self.result is not None:
            named.add(self.result)
        return frozenset(named)

    @cached_property
    def literal(self) -> tuple[tuple[Read, ...], ...]:
        """For each state, the placeholders in texts that are never filled in: ``structure`` and ``execution`` (L25)."""
        return tuple([tuple(_literal_of(state)) for state in self.states])

    @cached_property
    def opaque(self) -> bool:
        """Whether some gate asks a host's own hook, which may look at any key."""
        return any(
            isinstance(gate.condition, HookCondition) and keys_read(gate.condition.name, state.output) is None
            for state in self.states
            for gate in state.gates
        )


def judges_output(state: State) -> bool:
    """Whether a judge or a hook decides on what the state just wrote."""
    return any(_looks_at_output(gate, state.output) for gate in state.gates)


def _looks_at_output(gate: Gate, output: str) -> bool:
    condition = gate.condition
    if not isinstance(condition, HookCondition):
        return isinstance(condition, Prose)
    keys = keys_read(condition.name, output)
    return keys is None or output in keys


def _hook_keys(state: State) -> Iterator[str]:
    for gate in state.gates:
        if isinstance(gate.condition, HookCondition):
            keys = keys_read(gate.condition.name, state.output)
            yield from _WORDS.findall(gate.condition.name) if keys is None else keys


def build_dataflow(machine: Machine) -> Dataflow:
    """The reads and writes of a machine; each table is computed when a rule asks for it."""
    return Dataflow(tuple(machine.states.values()), frozenset(machine.context), machine.result)
