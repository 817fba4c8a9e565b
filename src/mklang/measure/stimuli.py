"""Synthetic outputs: how they are asked for, read, and kept from repeating each other (S5, S10).

What a writer is shown is the author's: the output contract, the request of the step and the conditions. Context data
stays out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mklang.engine.level import StateHalt
from mklang.engine.parsing import parse_output, strip_code_fence
from mklang.engine.requests import Produce
from mklang.lang.models import Gate, Generative, Machine, Otherwise, Prose, State, Tool
from mklang.measure.targets import Target

TEMPERATURE = 0.8
PROMPT_SHOWN = 800
"""Characters of a step's request that a writer is shown."""

_ROLE = (
    "You write sample outputs of one step of a workflow, so that the conditions of its next decision can be tested. A "
    "sample reads like a real output of the step: it keeps to the output contract, is made up freely, and never "
    "mentions conditions or testing."
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """A state's prose conditions that can be reached, in order: those before the first catch-all.

    ``batches`` is how many judge calls one decision can take, when hooks stand between conditions.
    """

    gates: tuple[Gate, ...]
    catch_all: bool
    batches: int

    def __len__(self) -> int:
        return len(self.gates)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The gates' numbers as the author counts them, from 0."""
        return tuple(gate.index for gate in self.gates)


def conditions_of(state: State) -> Conditions:
    """The conditions of a state that a judge can be asked about."""
    prose: list[Gate] = []
    batches, running = 0, False
    for gate in state.gates:
        if isinstance(gate.condition, Otherwise):
            return Conditions(tuple(prose), True, batches)
        if isinstance(gate.condition, Prose):
            prose.append(gate)
            batches += not running
            running = True
        else:
            running = False
    return Conditions(tuple(prose), False, batches)


def measurable(machine: Machine) -> list[State]:
    """The states with two or more prose conditions, in the document's order."""
    return [state for state in machine.states.values() if len(conditions_of(state)) >= 2]


def write_request(machine: Machine, state: State, targets: Sequence[Target], *, key: str) -> Produce:
    """One call to a writer for one output, or for several as a JSON list."""
    conditions = conditions_of(state)
    listed = "\n".join(f"{gate.index}. {' '.join(gate.when.split())}" for gate in conditions.gates)
    wanted = [f"An output for which {target.request(conditions.numbers)}." for target in targets]
    if len(targets) == 1:
        task = f"Write one output:\n- {wanted[0]}\n\nReply with the text of the output and nothing else."
    else:
        items = "\n".join(f"- {one}" for one in wanted)
        task = (
            f"Write {len(targets)} outputs, in this order, each different from the others:\n{items}\n\n"
            f"Reply with nothing but a JSON list of {len(targets)} texts."
        )
    about = _asked_of(state)
    return Produce(
        key=key,
        state=state.id,
        tier=state.tier or machine.default_tier,
        system=f"{_ROLE}\n\nOutput contract: {_contract(state)}" + (f"\n\nThe step: {about}" if about else ""),
        user=f"CONDITIONS\n{listed}\n\n{task}",
        temperature=TEMPERATURE,
    )


def _contract(state: State) -> str:
    if isinstance(state, Generative):
        return state.structure.strip() or "(none given: a plain text)"
    what = f"what the tool '{state.tool}' returns" if isinstance(state, Tool) else f"the result of '{state.machine}'"
    return f"a plain text, {what}"


def _asked_of(state: State) -> str:
    return state.prompt.text.strip()[:PROMPT_SHOWN] if isinstance(state, Generative) else ""


def read_outputs(reply: str, wanted: int) -> list[str]:
    """The outputs in a writer's reply, in order; a reply that is no list of texts counts as one output."""
    text = reply.strip()
    if wanted == 1:
        return [text] if text else []
    body = strip_code_fence(text)
    start, end = body.find("["), body.rfind("]")
    try:
        found = json.loads(body[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
        return [one.strip() for one in found[:wanted] if one.strip()]
    return [text] if text else []


def usable(state: State, text: str) -> bool:
    """Whether a run could have had this output: what is to be parsed must parse."""
    if isinstance(state, Generative) and state.parse is not None:
        try:
            parse_output(text, state.parse)
        except StateHalt:
            return False
    return bool(text.strip())


def likeness(text: str) -> str:
    """What two outputs have in common that say the same: letters and digits, folded."""
    return re.sub(r"\W+", " ", text.casefold()).strip()
