"""A machine without findings, damaged in thousands of ways: nothing crashes, and no run halts where lint was silent.

Every key of the document is deleted, written twice, misspelt and moved into other maps. What still reads as a machine
and gives no finding is run, with judges and hooks that answer differently each time: it may go another way, use up its
budget or stop at a fail gate, but it never meets what the document alone could have told.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
import yaml

from mklang.analysis.runner import Analyser
from mklang.diagnostics import Diagnostic, Severity
from mklang.engine.options import DEFAULT_OPTIONS
from mklang.engine.outcome import Halted, Outcome, Reason
from mklang.engine.requests import Answer, Hook, HookValue, Judge, Produce, Produced, Verdict
from mklang.engine.run import arun
from mklang.lang.models import Machine, Tier
from mklang.lang.reader import machine_from_text, read_machine
from mklang.source import Source
from tests.analysis.test_misspelling import CALLEE, TEXT
from tests.engine.worlds import World

Tree: TypeAlias = "str | list[Tree] | Map"
STATIC = {Reason.STATE_ERROR, Reason.NO_GATE_MATCHED, Reason.CALL_DEPTH_EXCEEDED, Reason.CALL_FAILED}
"""Halts whose cause stands in the document."""
LIBRARY = {"polisher": machine_from_text(CALLEE)}


class Map:
    """A map as pairs in order, so that a key can stand in it twice."""

    def __init__(self, pairs: list[tuple[str, Tree]]) -> None:
        self.pairs = pairs


def tree_of(node: yaml.nodes.Node) -> Tree:
    if isinstance(node, yaml.nodes.MappingNode):
        return Map([(key.value, tree_of(value)) for key, value in node.value])
    if isinstance(node, yaml.nodes.SequenceNode):
        return [tree_of(item) for item in node.value]
    return json.dumps(node.value) if node.style or node.tag.endswith("str") else str(node.value)


def text_of(tree: Tree, indent: int = 0) -> str:
    """The document again, block by block."""
    margin = " " * indent
    if isinstance(tree, str):
        return f" {tree}\n"
    if not (tree.pairs if isinstance(tree, Map) else tree):
        return f" {'{}' if isinstance(tree, Map) else '[]'}\n"
    if isinstance(tree, Map):
        return "\n" + "".join(f"{margin}{key}:{text_of(value, indent + 2)}" for key, value in tree.pairs)
    return "\n" + "".join(f"{margin}-{text_of(item, indent + 2)}" for item in tree)


def maps_of(tree: Tree) -> Iterator[Map]:
    if isinstance(tree, Map):
        yield tree
        for _, value in tree.pairs:
            yield from maps_of(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from maps_of(item)


def fresh() -> Tree:
    return tree_of(yaml.compose(TEXT, Loader=yaml.SafeLoader))


def damaged(damage: Callable[[list[Map]], None]) -> str:
    tree = fresh()
    damage(list(maps_of(tree)))
    return text_of(tree).lstrip("\n")


def every() -> Iterator[tuple[str, str]]:
    """What was done and the document."""
    maps = list(maps_of(fresh()))
    places = [(number, index) for number, one in enumerate(maps) for index in range(len(one.pairs))]
    for number, index in places:
        key = maps[number].pairs[index][0]
        yield f"delete {key}", damaged(lambda all_, n=number, i=index: all_[n].pairs.pop(i))  # type: ignore[misc]
        for value in (None, "x"):
            yield f"duplicate {key}", damaged(lambda all_, n=number, i=index, v=value: _twice(all_[n], i, v))  # type: ignore[misc]
        for wrong in misspelt(key):
            yield f"misspell {key} {wrong}", damaged(lambda all_, n=number, i=index, w=wrong: _rename(all_[n], i, w))  # type: ignore[misc]
    for count, (number, index) in enumerate(places):
        inside = set(map(id, maps_of(maps[number].pairs[index][1])))
        for target in range(count % 2, len(maps), 2):
            if target != number and id(maps[target]) not in inside:
                key = maps[number].pairs[index][0]
                yield (
                    f"move {key}",
                    damaged(lambda all_, n=number, i=index, t=target: all_[t].pairs.append(all_[n].pairs.pop(i))),  # type: ignore[misc]
                )


def misspelt(key: str) -> list[str]:
    return [key[1:], key + key[-1], key[:-2] + key[-1] + key[-2] if len(key) > 1 else f"{key}x", key.swapcase()]


def _twice(one: Map, index: int, value: str | None) -> None:
    key, before = one.pairs[index]
    one.pairs.append((key, before if value is None else json.dumps(value)))


def _rename(one: Map, index: int, key: str) -> None:
    one.pairs[index] = (key, one.pairs[index][1])


def lint(text: str) -> tuple[Machine | None, list[Diagnostic]]:
    source = Source("mail.mkl", text)
    reading = read_machine(source)
    if reading.machine is None:
        return None, list(reading.diagnostics)
    found = Analyser(LIBRARY, tiers=list(Tier)).lint(reading.machine, source, known=reading.diagnostics)
    return reading.machine, list(found)


def runs(machine: Machine) -> Iterator[Outcome]:
    """The machine's runs when judges and hooks say first, last or nothing."""

    def produce(request: Produce) -> Answer:
        return Produced(text='["one"]')

    for choose, holds in ((0, True), (-1, False), (None, False), (None, True)):

        def judge(request: Judge, choose: int | None = choose) -> Answer:
            return Verdict(index=None if choose is None else choose % len(request.conditions))

        def hook(request: Hook, holds: bool = holds) -> Answer:
            return HookValue(holds)

        world = World(produce=produce, judge=judge, hook=hook)
        yield asyncio.run(arun(machine, {"mail": "x"}, oracle=world, library=LIBRARY, options=DEFAULT_OPTIONS))


def test_the_tree_is_the_document() -> None:
    assert lint(damaged(lambda maps: None))[1] == []


@pytest.mark.rule("L12", "W39")
def test_no_damage_crashes_or_goes_unnoticed_where_a_run_would_halt_for_it() -> None:
    counts: Counter[str] = Counter()
    silent = []
    for what, text in every():
        machine, found = lint(text)
        counts[what.split(" ")[0]] += 1
        if machine is None:
            assert any(one.severity is Severity.ERROR and one.span for one in found), (what, text)
            continue
        if any(one.severity is Severity.ERROR for one in found) or found:
            continue
        ends = [outcome for outcome in runs(machine) if isinstance(outcome, Halted)]
        silent += [(what, end.error, text) for end in ends if end.reason in STATIC]
    assert silent == []
    assert sum(counts.values()) >= 2000
    assert min(counts.values()) >= 90
