"""From samples to Markdown: medians and minima over the rounds, ratios, and which targets are met."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from measuring import FLOOR, OURS, REFERENCE, Cell, Sample
from plan import Section, Target

_NAMES = {OURS: "**mklang (ours)**", REFERENCE: "reference"}
Results = Mapping[Cell, Sequence[Sample] | str]
"""For each cell its samples, one a round, or why there are none."""


class Figures:
    """Seconds of a cell, read off the chosen clock: CPU time for computing when the machine is loaded, else wall."""

    def __init__(self, results: Results, *, loaded: bool) -> None:
        self.results = results
        self.loaded = loaded

    def seconds(self, cell: Cell, section: Section, pick: Callable[[list[float]], float]) -> float | None:
        """One figure for the cell: ``pick`` of its rounds, each round counting with its best repetition."""
        samples = self.results.get(cell)
        if not samples or isinstance(samples, str):
            return None
        cpu = self.loaded and not section.waits
        return pick([min(sample.cpu if cpu else sample.wall) for sample in samples])

    def units(self, cell: Cell) -> int:
        samples = self.results[cell]
        return 1 if isinstance(samples, str) else samples[0].units

    def ratio(self, target: Target, section: Section, pick: Callable[[list[float]], float]) -> float | None:
        """How many times what it is compared with."""
        ours = self.seconds(target.cell, section, pick)
        against = target.against
        base = against if isinstance(against, float) else self.seconds(against, section, pick)
        return None if ours is None or not base else ours / base


def summary(sections: Sequence[Section], figures: Figures) -> list[str]:
    """The targets: one line each, met or not. The mark goes by the median, on a loaded machine by the minimum."""
    lines = ["| target | at most | median | minimum | |", "|---|---|---|---|---|"]
    for section in sections:
        for target in section.targets:
            median, least = (figures.ratio(target, section, pick) for pick in (statistics.median, min))
            decides = least if figures.loaded else median
            mark = "not measured" if decides is None else "met" if decides <= target.limit else "**missed**"
            lines.append(f"| {target.name} | {target.limit} | {_times(median)} | {_times(least)} | {mark} |")
    return lines


def details(section: Section, figures: Figures) -> list[str]:
    """One section's table: every system that was measured."""
    lines = [f"#### {section.title}", "", f"| system | variant | {section.unit}: median | minimum | x reference |"]
    lines.append("|---|---|---|---|---|")
    base: dict[str, float | None] = {}
    for cell in section.cells:
        if cell.system == REFERENCE:
            base[cell.label] = figures.seconds(cell, section, statistics.median)
    first = next((figure for figure in base.values() if figure is not None), None)
    for cell in section.cells:
        samples = figures.results.get(cell)
        if samples is None:
            continue
        name = _NAMES.get(cell.system, cell.system.removesuffix("_sys"))
        if isinstance(samples, str):
            lines.append(f"| {name} | {cell.label} | not measured: {samples} | | |")
            continue
        median, least = (figures.seconds(cell, section, pick) for pick in (statistics.median, min))
        against = base.get(cell.label, first)
        ratio = "" if cell.system == FLOOR or not against else _times(median / against)
        shown = (_shown(figure, figures.units(cell), section.unit) for figure in (median, least))
        lines.append(f"| {name} | {cell.label} | {' | '.join(shown)} | {ratio} |")
    return [*lines, ""]


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _shown(seconds: float, units: int, unit: str) -> str:
    figure = seconds / units * 1e6 if unit.startswith("us per") else seconds * 1e3
    return f"{figure:,.1f}" if figure < 1000 else f"{figure:,.0f}"
