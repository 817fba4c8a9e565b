"""Pairs of conditions whose truth everybody can see, put before the judge in the same invocation (item 7 of issue 6).

A judge that is wrong about these can be right about an author's conditions only by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from mklang.engine.level import Shared
from mklang.lang.models import END, Gate, Generative, Machine, Ok, Prose, Tier
from mklang.lang.template import Template
from mklang.measure.evidence import Output
from mklang.measure.probes import decide, only
from mklang.measure.targets import Stratum, Target

ALLOWED = 1
"""So many wrong answers of all are a slip; more make the judge unfit."""


@dataclass(frozen=True, slots=True)
class Control:
    """An output and two conditions, each with its truth."""

    output: str
    conditions: tuple[str, str]
    truth: tuple[bool, bool]


CONTROLS = (
    Control(
        "The parcel was delivered on Monday and the customer signed for it.",
        ("the text says that a parcel was delivered", "the text reports the delivery of a package"),
        (True, True),
    ),
    Control(
        "We are sorry. Your refund of 40 euros was paid out this morning.",
        ("the text is about money", "the text says that a refund was paid"),
        (True, True),
    ),
    Control(
        "The meeting was moved to Thursday at ten.",
        ("the text gives a recipe for soup", "the text says when a meeting takes place"),
        (False, True),
    ),
    Control(
        "The printer on the second floor is out of paper.",
        ("the text is a complaint about the food", "the text asks for a rise in pay"),
        (False, False),
    ),
)


@dataclass(frozen=True, slots=True)
class Fitness:
    """How the judge did on the controls: ``wrong`` of ``of`` answers. ``readings`` says each, for the report."""

    wrong: int
    of: int
    readings: tuple[str, ...] = ()

    @property
    def fit(self) -> bool | None:
        """Whether the judge's answers mean anything; None when it was not asked."""
        return None if not self.of else self.wrong <= ALLOWED

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {"fit": self.fit, "wrong": self.wrong, "of": self.of, "readings": list(self.readings)}

    def __add__(self, other: Fitness) -> Fitness:
        return Fitness(self.wrong + other.wrong, self.of + other.of, self.readings + other.readings)


async def check_judge(shared: Shared, tier: Tier) -> Fitness:
    """Put every control before a tier's judge. Raises ``Spent`` and what the judge raises."""
    found = Fitness(0, 0)
    for number, control in enumerate(CONTROLS):
        found += await _check(control, shared, tier, f"control[{number}]")
    return found


async def _check(control: Control, shared: Shared, tier: Tier, key: str) -> Fitness:
    machine = _machine(control, tier)
    state = machine.states["judge"]
    output = Output.fresh(control.output, Target(stratum=Stratum.MATERIAL), 2)
    heard = await decide(machine, state, control.output, shared=shared, key=f"{key}/both")
    probabilities = next((said.verdict.probabilities for said in heard.said if said.verdict.probabilities), None)
    if probabilities is not None and not heard.unread:
        threshold = heard.said[0].verdict.threshold or 0.5
        said: list[bool | None] = [value >= threshold for value in probabilities]
    else:
        said = []
        for gate in state.gates:
            alone = await decide(machine, only(state, [gate]), output.text, shared=shared, key=f"{key}/{gate.index}")
            said.append(None if alone.unread else alone.fired is not None)
    wrong = sum(a is not b for a, b in zip(said, control.truth, strict=True))
    words = [
        f"{condition!r}: {'unread' if a is None else a} (true: {b})"
        for condition, a, b in zip(control.conditions, said, control.truth, strict=True)
    ]
    return Fitness(wrong, len(control.truth), tuple(words))


def _machine(control: Control, tier: Tier) -> Machine:
    gates = tuple(Gate(text, Prose(text), Ok(END), index) for index, text in enumerate(control.conditions))
    state = Generative(
        id="judge", structure="A short message.", prompt=Template("", ()), output="message", gates=gates, tier=tier
    )
    return Machine(name="control", entry="judge", budget=1, states={"judge": state})
