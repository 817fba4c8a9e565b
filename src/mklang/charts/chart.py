"""What a picture of a machine shows, whatever draws it: boxes, arrows, and where a run went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Shape(Enum):
    """What a box stands for."""

    GENERATIVE = "generative"
    CALL = "call"
    TOOL = "tool"
    END = "end"
    FAIL = "fail"
    START = "start"
    MACHINE = "machine"
    """A called machine that is not drawn state by state."""
    MISSING = "missing"
    """A target or a callee that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One thing in the picture. ``key`` is unique in it; ``visits`` counts how often the run was there."""

    key: str
    shape: Shape
    label: str
    details: tuple[str, ...] = ()
    reachable: bool = True
    visits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """Where gates lead: those of one state with the same target and policy, by the conditions in ``labels``.

    ``policy`` is ``ok``, ``repair``, ``escalate``, ``fail``, ``call`` or ``start``. ``live`` is False when none of them
    can fire. ``taken`` are the numbers of the run's steps that went this way.
    """

    source: str
    target: str
    policy: str
    labels: tuple[str, ...] = ()
    gates: tuple[int, ...] = ()
    live: bool = True
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A machine's picture. ``callees`` are drawn inside it; ``route`` says whether a run is drawn on it."""

    key: str
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    callees: tuple[Chart, ...] = ()
    route: bool = False

    @property
    def every(self) -> Iterator[Chart]:
        """This picture and those inside it."""
        yield self
        for callee in self.callees:
            yield from callee.every
