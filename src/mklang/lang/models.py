"""The typed machine: what a document means once it has been read without errors. Frozen; every part knows its place.

A state is exactly one of three kinds (L5), a gate is a condition and a policy, both decided when the document is read
(L6), so that the engine never looks at a raw key again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from mklang.lang.template import Placeholder, Template
from mklang.lang.values import Frozen
from mklang.lang.yaml_tree import NOWHERE, Position

END = "END"


class Tier(Enum):
    """How capable a model a state asks for; the host maps tiers to models (L2)."""

    FAST = "fast"
    BALANCED = "balanced"
    REASONING = "reasoning"


class Parse(Enum):
    """How a generative state's text becomes a value (L47)."""

    LIST = "list"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Otherwise:
    """The catch-all: true whenever it is reached (L4)."""


@dataclass(frozen=True, slots=True)
class HookCondition:
    """A host predicate by name; ``when`` is only its label (L57)."""

    name: str


@dataclass(frozen=True, slots=True)
class Prose:
    """A natural-language condition that a judge decides (L57)."""

    text: str


Condition: TypeAlias = Otherwise | HookCondition | Prose


@dataclass(frozen=True, slots=True)
class Ok:
    """Go on to ``to``: a state id, or ``END``."""

    to: str


@dataclass(frozen=True, slots=True)
class Repair:
    """Go to ``to`` with feedback, at most ``limit`` times in a run (L40, L56)."""

    to: str
    limit: int


@dataclass(frozen=True, slots=True)
class Escalate:
    """Hand over to ``to``; a host with humans in the loop asks ``ask`` and puts the reply at ``reply_to`` (L7, L82)."""

    to: str
    ask: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """Stop the run here (L40)."""


Policy: TypeAlias = Ok | Repair | Escalate | Fail


@dataclass(frozen=True, slots=True)
class Gate:
    """One row of a state's decision: when ``condition`` is the first that is true, ``policy`` happens."""

    when: str
    condition: Condition
    policy: Policy
    index: int
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    @property
    def target(self) -> str | None:
        """Where the gate leads: a state id, ``END``, or None for a fail gate."""
        return None if isinstance(self.policy, Fail) else self.policy.to


@dataclass(frozen=True, slots=True)
class Sample:
    """Fan out ``count`` branches over the same context (L49)."""

    count: int


@dataclass(frozen=True, slots=True)
class Over:
    """Fan out one branch for each item of the list at ``items`` (L49)."""

    text: str
    items: Placeholder


FanOut: TypeAlias = Sample | Over


@dataclass(frozen=True, slots=True)
class Argument:
    """One ``input`` entry of a call or tool state: ``value`` is a template for text, a literal otherwise (L28)."""

    name: str
    value: Template | Frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Generative:
    """A state in which a model writes text (L42)."""

    id: str
    structure: str
    prompt: Template
    output: str
    gates: tuple[Gate, ...]
    execution: str | None = None
    tier: Tier | None = None
    reason: bool = False
    parse: Parse | None = None
    accumulate: bool = False
    fan_out: FanOut | None = None
    max_visits: int | None = None
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A state that runs another machine (L52); ``tier`` matters only for judging its gates."""

    id: str
    machine: str
    output: str
    gates: tuple[Gate, ...]
    input: tuple[Argument, ...] = ()
    tier: Tier | None = None
    accumulate: bool = False
    fan_out: FanOut | None = None
    max_visits: int | None = None
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A state that calls a host tool (L55)."""

    id: str
    tool: str
    output: str
    gates: tuple[Gate, ...]
    input: tuple[Argument, ...] = ()
    accumulate: bool = False
    fan_out: FanOut | None = None
    max_visits: int | None = None
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    @property
    def tier(self) -> None:
        """A tool uses no model of its own; its gates are judged at the machine's default tier."""
        return


State: TypeAlias = Generative | Call | Tool


@dataclass(frozen=True, slots=True)
class Declaration:
    """A documented host tool or hook; it binds nothing (L8)."""

    name: str
    description: str = ""
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A whole document. ``source_name`` is the file as the person named it."""

    name: str
    entry: str
    budget: int
    states: Mapping[str, State]
    default_tier: Tier = Tier.BALANCED
    result: str | None = None
    context: Mapping[str, Frozen] = field(default_factory=lambda: MappingProxyType({}))
    tools: tuple[Declaration, ...] = ()
    hooks: tuple[Declaration, ...] = ()
    version: str | None = None
    source_name: str = field(default="", compare=False)
    at: Position = field(default=NOWHERE, compare=False, repr=False)
