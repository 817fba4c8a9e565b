"""What a rule is given to look at: one machine, the facts about it, and what surrounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mklang.analysis.closure import Closure
from mklang.analysis.dataflow import Dataflow
from mklang.analysis.facts import Facts
from mklang.analysis.graph import Graph
from mklang.lang.models import Machine, Tier
from mklang.source import Source

if TYPE_CHECKING:
    from mklang.analysis.suppress import Listed, Suppression


@dataclass(frozen=True, slots=True)
class Subject:
    """A machine under analysis.

    Without a ``source`` no rule can look at the text itself; without ``tiers``, those the host has a model for, nothing
    is said about them. ``suppressions`` are the document's comments to mklang, ``unused`` those of their codes that
    silenced nothing.
    """

    facts: Facts
    closure: Closure
    source: Source | None = None
    strict: bool = False
    tiers: frozenset[Tier] | None = None
    suppressions: tuple[Suppression, ...] = ()
    unused: tuple[tuple[Suppression, Listed], ...] = ()

    @property
    def machine(self) -> Machine:
        """The machine."""
        return self.facts.machine

    @property
    def graph(self) -> Graph:
        """Its states as a graph."""
        return self.facts.graph

    @property
    def data(self) -> Dataflow:
        """Its reads and writes."""
        return self.facts.data
