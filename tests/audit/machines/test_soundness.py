"""What the audit calls guarded is guarded in every run: any machine, any decisions, a model that only writes poison.

Machines are made at random out of every construct the audit reasons about. Where it reports nothing about a mark, no
run may ever carry text with that mark to a tool that acts.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mklang.audit.machines import Protection, audit_machines
from mklang.engine.options import RunOptions
from mklang.engine.requests import (
    Answer,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    NotYet,
    Observation,
    Produce,
    Produced,
    Request,
    Tool,
    Verdict,
)
from mklang.engine.run import arun
from mklang.hooks.registry import HookRegistry
from mklang.host.guards import RunGuards, guards_of
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text
from mklang.tools.registry import ToolRegistry

pytestmark = pytest.mark.rule("S50", "L121", "L125")

POISON, SEEN = "poison", "observed"
GUARD = f"guard: clean\nparse: text\nforbid: [{POISON}, {SEEN}]\nbounds: {{ bytes: 5000 }}\n"
HOLLOW = "guard: hollow\nparse: text\n"
WROTE = {"AK102", "AK103", "AK104"}
KEYS = ("a", "a", "a", "b")


def make(dice: random.Random, name: str, callees: tuple[str, ...]) -> str:
    """A machine of two to five states, most of which lead on to the next."""
    ids = [f"s{number}" for number in range(dice.randint(2, 5))]
    states = [state(dice, one, [*ids, *[ids[(number + 1) % len(ids)]] * 6], callees) for number, one in enumerate(ids)]
    result = f"result: {dice.choice(KEYS)}\n" if dice.random() < 0.5 else ""
    context = "context: { a: [x], b: [x], text: '', list: [x, y] }\n"
    return f"machine: {name}\nentry: s0\nbudget: 9\n{result}{context}states:\n" + "".join(states)


def state(dice: random.Random, name: str, ids: list[str], callees: tuple[str, ...]) -> str:
    key = dice.choice((*KEYS, *KEYS, "text", "text"))
    spread = dice.random() < 0.2
    over = dice.choice((*KEYS, "list", "list"))
    value = dice.choice(
        (
            f"{{{{{key}}}}}",
            f"{{{{{key}.p.q}}}}",
            f"{{{{{key}.p}}}}",
            f"see {{{{{key}}}}}",
            "x",
            *(["{{item}}", "{{item.p}}"] * spread),
        )
    )
    kinds = {
        "write": "structure: s\n    prompt: p" + dice.choice(("", "", "\n    parse: json", "\n    parse: list")),
        "act": f'tool: act\n    input: {{ text: "{value}" }}',
        "look": f'tool: search\n    input: {{ text: "{value}" }}',
        "check": f'tool: guard\n    input: {{ guard: {dice.choice(("clean", "clean", "hollow"))}, value: "{value}" }}',
        "call": f'call: {dice.choice(callees or ("none",))}\n    input: {{ text: "{value}" }}',
    }
    kind = dice.choice(
        ["write", "write", "write", "act", "act", "act", "look", "check", *(["call", "call"] * bool(callees))]
    )
    more = dice.choice(("", "", "\n    accumulate: true")) + (f'\n    over: "{{{{{over}}}}}"' if spread else "")
    gates = ", ".join([*(gate(dice, ids) for _ in range(dice.randint(0, 2))), last(dice, ids)])
    return f"  {name}:\n    {kinds[kind]}\n    output: {dice.choice(KEYS)}{more}\n    gates: [{gates}]\n"


def gate(dice: random.Random, ids: list[str]) -> str:
    condition = dice.choice(
        ("when: c", "when: c, hook: 'guard:clean'", "when: c, hook: 'guard:hollow'", "when: c, hook: own")
    )
    target = dice.choice((*ids, "END"))
    policy = dice.choice((f"then: ok, to: {target}", f"repair: 1, to: {dice.choice(ids)}", f"then: ok, to: {target}"))
    return f"{{ {condition}, {policy} }}"


def last(dice: random.Random, ids: list[str]) -> str:
    target = dice.choice((*ids, "END"))
    return f"{{ when: otherwise, {dice.choice(('fail: true', *[f'then: ok, to: {target}'] * 5))} }}"


def bindings(dice: random.Random) -> Iterator[str]:
    places = [
        f"{name}.s{number}.{part}"
        for name in ("root", "one", "two")
        for number in range(5)
        for part in ("output", "input.text")
    ]
    for place in dice.sample(places, 4):
        yield f"{place}: {dice.choice(('clean', 'clean', 'hollow'))}"
    if dice.random() < 0.1:
        yield "'tool:act': clean"


class World:
    """Decides at random, writes and observes only marked text, and keeps what reached the tool that acts."""

    def __init__(self, dice: random.Random, guards: RunGuards) -> None:
        self.dice = dice
        self.hooks = HookRegistry(guards.hooks)
        self.tools = ToolRegistry(guards.tools)
        self.acted: list[str] = []

    async def answer(self, request: Request, /) -> Answer:
        match request:
            case Produce():
                listed = json.dumps([POISON, {"p": {"q": POISON}}])
                forms = (listed, listed, listed, json.dumps({"p": {"q": POISON}, "o": POISON}))
                return Produced(text=self.dice.choice(forms))
            case Judge():
                return Verdict(index=self.dice.choice((None, *range(len(request.conditions)))))
            case Hook():
                return (
                    HookValue(self.dice.random() < 0.5) if request.name == "own" else await self.hooks.answer(request)
                )
            case Tool(name="guard"):
                return await self.tools.answer(request)
            case Tool():
                if request.name == "act":
                    self.acted.append(json.dumps(request.input))
                return Observation(text=SEEN)
            case Nonce():
                return NonceValue("seed")
            case _:
                return NotYet(question="")


def project(seed: int, folder: Path) -> tuple[tuple[Machine, ...], RunGuards]:
    """Three machines that may call each other downward, and bindings for them."""
    dice = random.Random(seed)
    texts = (make(dice, "root", ("one", "two")), make(dice, "one", ("two",)), make(dice, "two", ()))
    machines = tuple(machine_from_text(text, str(folder / "root.mkl")) for text in texts)
    places = {f"{one.name}.{name}.output" for one in machines for name in one.states} | {
        f"{one.name}.{name}.input.text"
        for one in machines
        for name, state in one.states.items()
        if getattr(state, "tool", "guard") != "guard"
    }
    (folder / "clean.guard.yaml").write_text(GUARD)
    (folder / "hollow.guard.yaml").write_text(HOLLOW)
    bound = [line for line in bindings(dice) if line.partition(": ")[0] in places or line.startswith("'")]
    (folder / "guards.yaml").write_text("\n".join(bound) or "{}")
    guards = guards_of(str(folder / "root.mkl"), machines)
    assert not [found for found in guards.diagnostics if found.severity.value == "error"]
    return machines, guards


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_where_nothing_is_reported_nothing_marked_ever_arrives(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machines, guards = project(seed, Path(folder))
        found = audit_machines(machines, Protection(bindings=guards.bindings, named=guards.named))
        codes = {one.code for one in found}
        library = {machine.name: machine for machine in machines}
        for run in range(6):
            world = World(random.Random(f"{seed}/{run}"), guards)
            options = RunOptions(max_failed_branches=9)
            asyncio.run(
                arun(machines[0], oracle=world, library=library, options=options, guards=guards.bindings or None)
            )
            carried = " ".join(world.acted)
            assert POISON not in carried or codes & WROTE, (seed, run)
            assert SEEN not in carried or codes & (WROTE | {"AK111"}), (seed, run)


def test_the_random_machines_are_worth_something(tmp_path: Path) -> None:
    """Enough of them are silent, enough are not, and tools do act."""
    silent = acting = 0
    for seed in range(150):
        machines, guards = project(seed, tmp_path)
        found = audit_machines(machines, Protection(bindings=guards.bindings, named=guards.named))
        quiet = not [one for one in found if one.code != "AK106"]
        world = World(random.Random(seed), guards)
        library = {machine.name: machine for machine in machines}
        asyncio.run(arun(machines[0], oracle=world, library=library, guards=guards.bindings or None))
        silent += quiet
        acting += bool(world.acted)
    assert silent > 20
    assert silent < 130
    assert acting > 20
