"""What became of each step in a session. A violated order never counts; what cannot be seen is held against nobody.

Order is looked for in all the events that a step could be: it holds when some choice of events, one for each step,
keeps every order that the steps ask for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import Enum

from mklang.knowledge.compliance.matching import matches, needs_tools
from mklang.knowledge.compliance.spec import Spec, Step
from mklang.knowledge.compliance.timeline import Event, Session


class Outcome(Enum):
    """What became of a step."""

    DONE = "done"
    VIOLATED = "violated"
    """Done in the wrong place, or done although it never should be."""
    NOT_DONE = "not-done"
    UNORDERED = "order-unknown"
    """Done, while the step it should stand before or after is nowhere to be seen."""
    NOT_APPLICABLE = "not-applicable"
    NOT_OBSERVABLE = "not-observable"


COUNTED = frozenset({Outcome.DONE, Outcome.VIOLATED, Outcome.NOT_DONE})
"""The outcomes that a share is counted over."""
Labels = Mapping[str, Sequence[int]]
"""For steps in prose: the numbers of the events that a model took for them. One that is missing was not looked for."""


def outcomes(spec: Spec, session: Session, labels: Labels | None = None) -> dict[str, Outcome]:
    """What became of each step of a spec in a session."""
    seen = {step.id: _candidates(step, session, labels or {}) for step in spec.steps}
    found: dict[str, Outcome] = {}
    for step in spec.steps:
        candidates = seen[step.id]
        if step.when is not None and not any(matches(step.when, event) for event in session.events):
            found[step.id] = Outcome.NOT_APPLICABLE
        elif candidates is None:
            found[step.id] = Outcome.NOT_OBSERVABLE
        elif step.never:
            found[step.id] = Outcome.VIOLATED if candidates else Outcome.DONE
        elif step.each is not None:
            found[step.id] = _each(step, candidates, session.events)
        elif len(candidates) < step.count:
            found[step.id] = Outcome.NOT_DONE if step.required else Outcome.NOT_APPLICABLE
        else:
            found[step.id] = Outcome.DONE
    return found | _order(spec, found, seen)


def _candidates(step: Step, session: Session, labels: Labels) -> list[int] | None:
    """The numbers of the events that a step could be; None when nobody can tell."""
    if step.match is None:
        marked = labels.get(step.id)
        return None if marked is None else sorted(set(marked))
    if needs_tools(step.match) and not session.has_tools:
        return None
    if not session.events or (step.match.text is not None and not session.has_texts):
        return None
    return [number for number, event in enumerate(session.events) if matches(step.match, event)]


def _each(step: Step, candidates: list[int], events: Sequence[Event]) -> Outcome:
    """Whether the step was done anew before each of the events it belongs to."""
    assert step.each is not None
    before = -1
    places = [number for number, event in enumerate(events) if matches(step.each, event)]
    for place in places:
        first = before if step.within is None else max(before, place - step.within - 1)
        if not any(first < number < place for number in candidates):
            return Outcome.VIOLATED
        before = place
    return Outcome.DONE if places else Outcome.NOT_APPLICABLE


def _order(spec: Spec, found: Mapping[str, Outcome], seen: Mapping[str, list[int] | None]) -> dict[str, Outcome]:
    """Corrections for the steps that were done and ask for an order."""
    corrected: dict[str, Outcome] = {}
    edges: list[tuple[str, str]] = []
    there = {name: list(places) for name, places in seen.items() if places}
    for step in spec.steps:
        asked = _asked(step)
        if found[step.id] is not Outcome.DONE or step.never or step.each is not None or not asked:
            continue
        if any(one not in there for edge in asked for one in edge):
            corrected[step.id] = Outcome.UNORDERED
        elif _possible(there, [*edges, *asked]):
            edges += asked
        else:
            corrected[step.id] = Outcome.VIOLATED
    return corrected


def _asked(step: Step) -> list[tuple[str, str]]:
    """The orders a step asks for, each as earlier and later."""
    after, before = step.detector.after_step, step.detector.before_step
    return [*([(after, step.id)] if after else []), *([(step.id, before)] if before else [])]


def _possible(there: Mapping[str, list[int]], edges: Sequence[tuple[str, str]]) -> bool:
    """Whether each step can be given one of its events so that every edge goes forward. The earliest event that fits is
    always as good as any later one, so steps are gone through until nothing moves."""
    chosen = {name: places[0] for name, places in there.items()}
    moved = True
    while moved:
        moved = False
        for earlier, later in edges:
            if chosen[later] > chosen[earlier]:
                continue
            places = there[later]
            place = bisect_right(places, chosen[earlier])
            if place == len(places):
                return False
            chosen[later], moved = places[place], True
    return True
