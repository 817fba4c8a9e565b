"""What one machine alone tells, each thing computed once, when first asked for."""

from __future__ import annotations

from functools import cached_property

from mklang.analysis.dataflow import Dataflow, build_dataflow
from mklang.analysis.graph import Graph, build_graph
from mklang.analysis.trust import Trust, build_trust
from mklang.lang.models import Machine


class Facts:
    """A machine with its graph, its dataflow and the way trust spreads through it."""

    def __init__(self, machine: Machine) -> None:
        """The facts about ``machine``."""
        self.machine = machine

    @cached_property
    def graph(self) -> Graph:
        """The states as a graph."""
        return build_graph(self.machine)

    @cached_property
    def data(self) -> Dataflow:
        """The reads and writes of the blackboard."""
        return build_dataflow(self.machine)

    @cached_property
    def trust(self) -> Trust:
        """Where a judge's word leads (L17)."""
        return build_trust(self.graph, self.data)
