"""A machine told in the four patterns, and the seven review questions answered from its document (S45).

The answers are what can be read off a machine and its guards; what cannot is "unclear", never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from mklang.analysis.trust import build_trust
from mklang.audit.machine_flow import Flow
from mklang.audit.machines import Audit
from mklang.engine.options import Effect
from mklang.engine.taint import effect_of
from mklang.lang.models import Call, Generative, HookCondition, Otherwise, Prose, Repair, State, Tool


class Answer(Enum):
    """How it stands; what is unclear cannot be read off the document, and a reviewer has to find out."""

    FINE = "fine"
    FINDING = "finding"
    UNCLEAR = "unclear"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One review question and what the document says to it."""

    question: str
    answer: Answer
    because: str

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {"question": self.question, "answer": self.answer.value, "because": self.because}


@dataclass(frozen=True, slots=True)
class Described:
    """One machine: which patterns it has, where, and the review."""

    machine: str
    path: str
    patterns: tuple[tuple[str, str], ...]
    review: tuple[Reviewed, ...]

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        patterns = [{"pattern": name, "where": where} for name, where in self.patterns]
        review = [one.to_wire() for one in self.review]
        return {"machine": self.machine, "path": self.path, "patterns": patterns, "review": review}


def describe(audit: Audit, name: str) -> Described:
    """The description of one machine of an audit."""
    flow = audit.flows[name]
    return Described(name, flow.machine.source_name, tuple(_patterns(flow)), tuple(_review(audit, flow)))


def _patterns(flow: Flow) -> Iterator[tuple[str, str]]:
    guards = list(_guards(flow))
    if guards:
        yield "guard (model → code)", "; ".join(guards)
    filters = [state.id for state in _states(flow) if _filters(flow, state)]
    if filters:
        yield "filter (code → model)", ", ".join(filters)
    judges = [state.id for state in _states(flow) if any(isinstance(gate.condition, Prose) for gate in state.gates)]
    if judges:
        yield "judge + enforce (model → verdict → code)", f"gates of {_listed(judges)}"
    yield "orchestrator (code loop, model works)", f"at most {flow.machine.budget} steps, whatever a model says"


def _states(flow: Flow) -> list[State]:
    return [flow.graph.states[number] for number in flow.graph.origins]


def _guards(flow: Flow) -> Iterator[str]:
    protection, name = flow.protection, flow.machine.name
    for state in _states(flow):
        if protection.passes_output(name, state):
            yield f"bound to {state.id}.output"
        hooks = {gate.condition.name for gate in state.gates if isinstance(gate.condition, HookCondition)}
        yield from sorted(f"{hook} on {state.id}" for hook in hooks if hook.startswith("guard:"))
        if isinstance(state, Tool):
            covered = list(protection.bindings.covers(name, state))
            if covered:
                yield f"bound to {state.id}.input ({', '.join(covered)})"
            if flow.is_guard(state):
                yield f"state {state.id}"


def _filters(flow: Flow, state: State) -> bool:
    """Whether a state is code whose output goes into a prompt."""
    if not isinstance(state, Tool) or effect_of(state.tool, flow.protection.effects) is not Effect.READ:
        return False
    return any(
        placeholder.root == state.output
        for other in _states(flow)
        if isinstance(other, Generative)
        for placeholder in other.prompt.placeholders
    )


def _review(audit: Audit, flow: Flow) -> Iterator[Reviewed]:
    yield _where_is_the_guard(audit, flow)
    yield _who_ends_the_loop(flow)
    yield _is_the_filter_code(flow)
    yield _can_the_judge_write(flow)
    yield Reviewed(
        "does it resume from disk?",
        Answer.FINE,
        "every answer is journaled; an acting tool is never called twice unasked",
    )
    yield Reviewed("is every input fenced?", Answer.FINE, "the kernel fences every value the author did not write")
    yield Reviewed(
        "are budget and completion deterministic?",
        Answer.FINE,
        f"budget {flow.machine.budget}, visits and repairs are counted",
    )


def _where_is_the_guard(audit: Audit, flow: Flow) -> Reviewed:
    question = "where is the guard?"
    path = flow.machine.source_name
    open_ = [found for found in audit.findings() if found.path == path and found.code not in {"AK106", "AK111"}]
    if open_:
        where = _listed(dict.fromkeys(found.where.split(".")[1] for found in open_))
        return Reviewed(question, Answer.FINDING, f"unguarded model output reaches {where}")
    guards = list(_guards(flow))
    if guards:
        return Reviewed(question, Answer.FINE, "; ".join(guards))
    missing = [state.machine for state in _states(flow) if isinstance(state, Call) and state.machine not in audit.flows]
    if missing:
        return Reviewed(question, Answer.UNCLEAR, f"what {_listed(missing)} does is not known")
    return Reviewed(question, Answer.NOT_NEEDED, "no model output reaches a tool that acts")


def _who_ends_the_loop(flow: Flow) -> Reviewed:
    question = "who ends the loop?"
    judged = [
        flow.graph.states[component[0]].id
        for component in flow.graph.components
        if (len(component) > 1 or component[0] in flow.graph.targets[component[0]])
        and component[0] in flow.graph.origins
        and not any(_code_ends(flow, number, component) for number in component)
    ]
    if judged:
        because = f"code, by the budget only: in the loop through {_listed(judged)} nothing else does; set max_visits"
        return Reviewed(question, Answer.FINE, because)
    return Reviewed(question, Answer.FINE, "code: the budget, spent repairs, visit ceilings or hooks")


def _code_ends(flow: Flow, number: int, component: list[int]) -> bool:
    """Whether code decides at this state to leave the loop, or how often it is gone through."""
    state = flow.graph.states[number]
    inside = {flow.graph.states[member].id for member in component}
    if state.max_visits is not None:
        return True
    back = [gate for gate in flow.graph.live[number] if gate.target in inside]
    if back and all(isinstance(gate.policy, Repair) for gate in back):
        return True
    leaves = [gate for gate in flow.graph.live[number] if gate.target not in inside]
    return any(isinstance(gate.condition, HookCondition) for gate in leaves) or any(
        isinstance(gate.condition, Otherwise) and gate is flow.graph.live[number][0] for gate in leaves
    )


def _is_the_filter_code(flow: Flow) -> Reviewed:
    question = "is filtering before the model, and code?"
    filters = [state.id for state in _states(flow) if _filters(flow, state)]
    if filters:
        return Reviewed(question, Answer.FINE, f"{_listed(filters)} narrow what the prompts get")
    return Reviewed(question, Answer.UNCLEAR, "prompts get inputs as they come; whoever calls may have filtered them")


def _can_the_judge_write(flow: Flow) -> Reviewed:
    question = "can the judge write?"
    trust = build_trust(flow.graph, flow.facts.data)
    acting = [
        state.id
        for number, state in enumerate(flow.graph.states)
        if isinstance(state, Tool)
        and effect_of(state.tool, flow.protection.effects) is not Effect.READ
        and trust.judged(number)
    ]
    if acting:
        because = f"{_listed(acting)} can be reached on a judge's word, without a hook or a person in between"
        return Reviewed(question, Answer.FINDING, because)
    return Reviewed(question, Answer.FINE, "no: a person or code stands before every effect it could choose")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in dict.fromkeys(names))
