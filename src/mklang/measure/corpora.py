"""The pinned corpus: machines, outputs with their gold, paraphrases, and outputs that try to speak for the author."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import msgspec

from mklang.lang.models import Gate, Machine, Prose
from mklang.lang.reader import machine_from_text

SHADOW = "priority_shadow"
INJECTION = "injection"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One pinned output of a machine's entry state, and the way a run should take from there.

    An injection has the family of its payload, the target it wants, and whether it is held out from tuning.
    """

    id: str
    machine: str
    purpose: str
    output: str
    gold: str
    family: str = ""
    held_out: bool = False
    attack: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus by its id; numbers of two ids are never compared. ``machines`` are by variant and name."""

    id: str
    cases: tuple[Case, ...]
    machines: Mapping[tuple[str, int], Machine]

    def chosen(self, purposes: Iterable[str] = ()) -> tuple[Case, ...]:
        """The cases of some purposes or machines; all of them without any."""
        wanted = set(purposes)
        return tuple(one for one in self.cases if not wanted or {one.purpose, one.machine} & wanted)


@cache
def pinned_corpus() -> Corpus:
    """The corpus that ships with mklang."""
    folder = files("mklang.measure").joinpath("corpus")
    cases: list[Case] = []
    for name in ("cases.jsonl", "injections.jsonl"):
        cases += [msgspec.json.decode(line, type=Case) for line in folder.joinpath(name).read_bytes().splitlines()]
    paraphrases = msgspec.json.decode(folder.joinpath("paraphrases.json").read_bytes(), type=dict[str, dict[str, str]])
    machines: dict[tuple[str, int], Machine] = {}
    for name, other in paraphrases.items():
        machine = machine_from_text(folder.joinpath(f"{name}.mkl").read_text("utf-8"))
        machines[name, 0] = machine
        machines[name, 1] = paraphrased(machine, other)
    identity = msgspec.json.decode(folder.joinpath("corpus.json").read_bytes(), type=dict[str, str])["id"]
    return Corpus(identity, tuple(cases), machines)


def paraphrased(machine: Machine, other: Mapping[str, str]) -> Machine:
    """The machine with its conditions in other words."""
    states = {
        name: replace(state, gates=tuple(_reworded(gate, other) for gate in state.gates))
        for name, state in machine.states.items()
    }
    return replace(machine, states=states)


def _reworded(gate: Gate, other: Mapping[str, str]) -> Gate:
    text = other.get(gate.when)
    return gate if text is None else replace(gate, when=text, condition=Prose(text))
