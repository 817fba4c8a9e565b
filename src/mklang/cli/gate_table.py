"""Decisions as a person reads them: one row for each gate, what was found out about it, and which fires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mklang.cli.output import Ink, one_line
from mklang.engine.deciding import Decided
from mklang.engine.trace import Judgement
from mklang.lang.models import Gate, HookCondition, Otherwise, State

CONDITION_CHARS = 80
_SHOWN_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What several decisions say about one gate.

    ``asked`` counts those that looked at it, ``held`` those where it was true, ``fires`` those where it fired.
    """

    gate: Gate
    kind: str
    asked: int
    held: int
    fires: int
    probabilities: tuple[float, ...]
    thresholds: tuple[float, ...]

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        condition = self.gate.condition
        wire: dict[str, object] = {"gate": self.gate.index, "when": self.gate.when, "kind": self.kind}
        if isinstance(condition, HookCondition):
            wire["hook"] = condition.name
        wire |= {"to": self.gate.target, "asked": self.asked, "held": self.held, "fires": self.fires}
        if self.probabilities:
            wire |= {"probabilities": list(self.probabilities), "threshold": self.thresholds[0]}
        return wire


def rows_of(state: State, decisions: Sequence[Decided]) -> list[Row]:
    """One row for each gate of the state, in order."""
    return [_row(gate, decisions) for gate in state.gates]


def _row(gate: Gate, decisions: Sequence[Decided]) -> Row:
    fires = sum(one.gate is gate for one in decisions)
    condition = gate.condition
    asked = held = 0
    chances: list[float] = []
    thresholds: list[float] = []
    if isinstance(condition, Otherwise):
        asked = held = fires
    elif isinstance(condition, HookCondition):
        answers = [one.hooks[gate.index] for one in decisions if gate.index in one.hooks]
        asked, held = len(answers), sum(answers)
    else:
        for judgement in _about(gate, decisions):
            asked += 1
            chance, threshold = _chance(judgement, gate), judgement.threshold
            if chance is None or threshold is None:
                held += judgement.chosen == gate.index
                continue
            chances.append(chance)
            thresholds.append(threshold)
            held += chance >= threshold
    return Row(
        gate=gate,
        kind="hook" if isinstance(condition, HookCondition) else type(condition).__name__.lower(),
        asked=asked,
        held=held,
        fires=fires,
        probabilities=tuple(chances),
        thresholds=tuple(thresholds),
    )


def _about(gate: Gate, decisions: Iterable[Decided]) -> Iterator[Judgement]:
    """The judgements that were asked about the gate and read."""
    for one in decisions:
        for judgement in one.judgements:
            if gate.index in judgement.gates and judgement.read != "unread":
                yield judgement


def _chance(judgement: Judgement, gate: Gate) -> float | None:
    """The probability the judge gave the gate."""
    if judgement.probabilities is None or len(judgement.probabilities) != len(judgement.gates):
        return None
    return judgement.probabilities[judgement.gates.index(gate.index)]


def draw_table(rows: Sequence[Row], decisions: Sequence[Decided], ink: Ink) -> list[str]:
    """The table as lines, headings first."""
    times = len(decisions)
    cells = [("gate", "fires", "kind", "told", "threshold", "condition")]
    cells += [_cells(row, times) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]) - 1)]
    lines = []
    for number, line in enumerate(cells):
        text = "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        fires = number > 0 and rows[number - 1].fires > 0
        lines.append(ink(text, "green" if fires else None, dim=number == 0))
    return lines


def _cells(row: Row, times: int) -> tuple[str, str, str, str, str, str]:
    fires = ("<-" if row.fires else "") if times == 1 else f"{row.fires}/{times}"
    threshold = ", ".join(f"{value:g}" for value in dict.fromkeys(row.thresholds))
    return str(row.gate.index), fires, row.kind, _told(row, times), threshold, _condition(row.gate)


def _told(row: Row, times: int) -> str:
    """What was found out about a gate, in a few words."""
    if isinstance(row.gate.condition, Otherwise):
        return ""
    if not row.asked:
        return "not asked"
    if row.probabilities:
        least, most = min(row.probabilities), max(row.probabilities)
        mean = sum(row.probabilities) / len(row.probabilities)
        return f"p {mean:.3f}" + (f" ({least:.3f}-{most:.3f})" if most - least >= 0.001 else "")
    if times == 1:
        word = "true" if row.held else "false"
        return word if row.kind == "hook" else "picked" if row.held else "not picked"
    return f"{'true' if row.kind == 'hook' else 'picked'} {row.held}/{row.asked}"


def _condition(gate: Gate) -> str:
    condition = gate.condition
    named = f"{condition.name}: " if isinstance(condition, HookCondition) else ""
    return one_line(f"{named}{gate.when}", CONDITION_CHARS)


def headline(decided: Decided) -> str:
    """What one decision comes to, in a sentence."""
    gate = decided.gate
    if gate is not None:
        to = f" -> {gate.target}" if gate.target is not None else ""
        doubt = ", in doubt" if any(one.uncertain for one in decided.judgements) else ""
        return f"gate {gate.index} fires ({type(gate.policy).__name__.lower()}{to}){doubt}"
    if decided.ask is not None:
        return "a person is asked which gate fires: the judge is in doubt"
    message = f" ({one_line(decided.message)})" if decided.message else ""
    return f"the run halts: {one_line(decided.error or '')}{message}"


def remarks(decided: Decided) -> Iterator[str]:
    """What else there is to say about one decision: how it was judged, none, contradictions, a fallback."""
    for judgement in decided.judgements:
        first, *others = judgement.gates
        about = f"gates {first} to {others[-1]}" if others else f"gate {first}"
        how = f"{judgement.mapping}, {judgement.provider}" if judgement.provider else judgement.mapping
        line = f"{about} judged by {one_line(judgement.model or 'a judge')} ({how})"
        if judgement.none_probability is not None:
            line += f", none p {judgement.none_probability:.3f}"
        line += f"; {judgement.usage.total} tokens"
        if judgement.seconds >= _SHOWN_SECONDS:
            line += f", {judgement.seconds:.1f} s"
        yield line
        if judgement.fence_applied is False:
            yield "the evidence was not inside its fences"
        if judgement.contradiction:
            yield "the judge says both that a condition is true and that none is"
    if decided.step.judge_fallback:
        yield f"the verdict was not read: {one_line(decided.step.judge_raw or '', 120)}"
    if decided.step.decision_tainted:
        yield "the decision rests on data from outside"
