"""Every key of the language: where it applies, what it takes, since when, and what it is for. The only list there is.

The reader's checks, near misses, the JSON Schema and the editor's help are derived from this table (L2, L5, L6, L8).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from types import MappingProxyType

from mklang.lang.models import Parse, Tier

MAX_INTEGER = 1_000_000_000


_NO_WORDS: Mapping[str, str] = MappingProxyType({})


class Place(Enum):
    """A kind of map in a document; the value names it in messages."""

    DOCUMENT = "the document"
    GENERATIVE = "a generative state"
    CALL = "a call state"
    TOOL = "a tool state"
    OK = "an ok gate"
    REPAIR = "a repair gate"
    ESCALATE = "an escalate gate"
    FAIL = "a fail gate"
    DECLARATION = "a declaration"


class Shape(Enum):
    """What a key takes; the value names it in messages."""

    TEXT = "text"
    INTEGER = "a whole number"
    BOOLEAN = "true or false"
    TRUE = "true"
    CHOICE = "one of a few words"
    VALUES = "a map of values"
    DECLARATIONS = "a list of declarations"
    STATES = "a map of states"
    GATES = "a list of gates"


@dataclass(frozen=True, slots=True)
class TextRule:
    """What a text must be: a regular expression to be found in it, and the same as words to follow the key's name."""

    pattern: re.Pattern[str]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of the language.

    ``least`` is the smallest whole number it takes; ``words`` are the words it takes, each with its version.
    """

    name: str
    places: frozenset[Place]
    shape: Shape
    description: str
    required: bool = False
    default: str | int | bool | None = None
    since: str = "0.2"
    least: int = 0
    words: Mapping[str, str] = field(default_factory=lambda: _NO_WORDS)
    holds: TextRule | None = None


_DOCUMENT = frozenset({Place.DOCUMENT})
_GENERATIVE = frozenset({Place.GENERATIVE})
_CALL = frozenset({Place.CALL})
_TOOL = frozenset({Place.TOOL})
STATES = _GENERATIVE | _CALL | _TOOL
GATES = frozenset({Place.OK, Place.REPAIR, Place.ESCALATE, Place.FAIL})
_DECLARATION = frozenset({Place.DECLARATION})

_TIERS = MappingProxyType({tier.value: "0.2" for tier in Tier})
_ONE_KEY = TextRule(re.compile(r"^(?=[^.]*$)\s*\S"), "must be a context key, not empty and without a dot")
_SOMETHING = TextRule(re.compile(r"\S"), "must not be empty")

KEYS: tuple[Key, ...] = (
    Key(
        name="mklang",
        places=_DOCUMENT,
        shape=Shape.TEXT,
        description="The language version the document was written for, in quotes; it never changes how a run goes.",
    ),
    Key(
        name="machine",
        places=_DOCUMENT,
        shape=Shape.TEXT,
        required=True,
        description="The machine's name, by which other machines call it.",
        holds=_SOMETHING,
    ),
    Key(
        name="entry",
        places=_DOCUMENT,
        shape=Shape.TEXT,
        required=True,
        description="The id of the state a run begins with.",
        holds=_SOMETHING,
    ),
    Key(
        name="budget",
        places=_DOCUMENT,
        shape=Shape.INTEGER,
        required=True,
        least=1,
        description="How many steps a run may take at most.",
    ),
    Key(
        name="default_tier",
        places=_DOCUMENT,
        shape=Shape.CHOICE,
        words=_TIERS,
        default=Tier.BALANCED.value,
        description="The tier of every state that names none.",
    ),
    Key(
        name="result",
        places=_DOCUMENT,
        shape=Shape.TEXT,
        description="The context key whose value a run returns; without it, the last output.",
        holds=_ONE_KEY,
    ),
    Key(
        name="context",
        places=_DOCUMENT,
        shape=Shape.VALUES,
        description="The values a run starts with; inputs replace them.",
    ),
    Key(
        name="tools",
        places=_DOCUMENT,
        shape=Shape.DECLARATIONS,
        description="The host tools the machine expects, for readers and checks; it binds nothing.",
    ),
    Key(
        name="hooks",
        places=_DOCUMENT,
        shape=Shape.DECLARATIONS,
        description="The host predicates the machine expects, for readers and checks; it binds nothing.",
    ),
    Key(
        name="states",
        places=_DOCUMENT,
        shape=Shape.STATES,
        required=True,
        description="The states by id, at least one.",
    ),
    Key(
        name="structure",
        places=_GENERATIVE,
        shape=Shape.TEXT,
        required=True,
        description="What the model's output must look like.",
    ),
    Key(
        name="prompt",
        places=_GENERATIVE,
        shape=Shape.TEXT,
        required=True,
        description="What the model is asked; {{name}} stands for a context value.",
    ),
    Key(
        name="execution",
        places=_GENERATIVE,
        shape=Shape.TEXT,
        description="How the model should go about it: policy that is not part of the task.",
    ),
    Key(
        name="call",
        places=_CALL,
        shape=Shape.TEXT,
        required=True,
        description="The name of the machine to run.",
        holds=_SOMETHING,
    ),
    Key(
        name="tool",
        places=_TOOL,
        shape=Shape.TEXT,
        required=True,
        description="The name of the host tool to call.",
        holds=_SOMETHING,
    ),
    Key(
        name="input",
        places=_CALL | _TOOL,
        shape=Shape.VALUES,
        description="What is handed over: texts may hold {{name}}, other values go as they are.",
    ),
    Key(
        name="tier",
        places=_GENERATIVE | _CALL,
        shape=Shape.CHOICE,
        words=_TIERS,
        description="How capable a model the state asks for.",
    ),
    Key(
        name="reason",
        places=_GENERATIVE,
        shape=Shape.BOOLEAN,
        default=False,
        description="Whether the model thinks first; the judge sees the reasoning, the context never does.",
    ),
    Key(
        name="parse",
        places=_GENERATIVE,
        shape=Shape.CHOICE,
        words=MappingProxyType({Parse.LIST.value: "0.3", Parse.JSON.value: "0.4"}),
        since="0.3",
        description="Read the output as JSON: a list, or any value.",
    ),
    Key(
        name="accumulate",
        places=STATES,
        shape=Shape.BOOLEAN,
        default=False,
        description="Whether each output is appended to a list instead of replacing the last.",
    ),
    Key(
        name="sample",
        places=STATES,
        shape=Shape.INTEGER,
        least=2,
        description="How many branches to run over the same context.",
    ),
    Key(
        name="over",
        places=STATES,
        shape=Shape.TEXT,
        description="One placeholder naming a list; one branch runs for each item.",
    ),
    Key(
        name="max_visits",
        places=STATES,
        shape=Shape.INTEGER,
        least=1,
        since="0.4",
        description="How often a run may enter the state.",
    ),
    Key(
        name="output",
        places=STATES,
        shape=Shape.TEXT,
        required=True,
        description="The context key that receives the result.",
        holds=_ONE_KEY,
    ),
    Key(
        name="gates",
        places=STATES,
        shape=Shape.GATES,
        required=True,
        description="What happens next: the first gate whose condition is true decides.",
    ),
    Key(
        name="when",
        places=GATES,
        shape=Shape.TEXT,
        required=True,
        description="The condition, in plain language for the judge, or 'otherwise' for the catch-all.",
        holds=_SOMETHING,
    ),
    Key(
        name="hook",
        places=GATES,
        shape=Shape.TEXT,
        description="A host predicate that decides the gate instead of the judge.",
        holds=_SOMETHING,
    ),
    Key(
        name="then",
        places=frozenset({Place.OK}),
        shape=Shape.CHOICE,
        words=MappingProxyType({"ok": "0.2"}),
        required=True,
        description="'ok': go on to the target.",
    ),
    Key(
        name="repair",
        places=frozenset({Place.REPAIR}),
        shape=Shape.INTEGER,
        least=1,
        required=True,
        description="Go to the target with feedback, at most this many times in a run.",
    ),
    Key(
        name="escalate",
        places=frozenset({Place.ESCALATE}),
        shape=Shape.TRUE,
        required=True,
        description="'true': hand over to the target, or to a human where the host has one.",
    ),
    Key(
        name="fail",
        places=frozenset({Place.FAIL}),
        shape=Shape.TRUE,
        required=True,
        description="'true': stop the run here.",
    ),
    Key(
        name="to",
        places=frozenset({Place.OK, Place.REPAIR, Place.ESCALATE}),
        shape=Shape.TEXT,
        required=True,
        description="Where the gate leads: a state id, or END.",
        holds=_SOMETHING,
    ),
    Key(
        name="ask",
        places=frozenset({Place.ESCALATE}),
        shape=Shape.TEXT,
        since="0.4",
        description="What the human is asked; shown as it is.",
    ),
    Key(
        name="reply_to",
        places=frozenset({Place.ESCALATE}),
        shape=Shape.TEXT,
        default="human.reply",
        since="0.4",
        description="The dotted context path that receives the human's reply.",
        holds=TextRule(re.compile(r"^[^.]+(\.[^.]+)*$"), "must be a context path such as 'human.reply'"),
    ),
    Key(
        name="name",
        places=_DECLARATION,
        shape=Shape.TEXT,
        required=True,
        description="The name of the host tool or predicate.",
        holds=_SOMETHING,
    ),
    Key(
        name="description",
        places=_DECLARATION,
        shape=Shape.TEXT,
        default="",
        description="What it does, in one sentence.",
    ),
)

KEYS_AT: Mapping[Place, Mapping[str, Key]] = MappingProxyType(
    {place: MappingProxyType({key.name: key for key in KEYS if place in key.places}) for place in Place}
)

POLICIES: Mapping[str, Place] = MappingProxyType(
    {
        "then": Place.OK,
        "repair": Place.REPAIR,
        "escalate": Place.ESCALATE,
        "fail": Place.FAIL,
    }
)
"""The key that marks each policy (L6)."""


_LONGEST_GUESSED = 40


def closest(word: str, allowed: Iterable[str]) -> str | None:
    """The allowed word that was most likely meant, if any is close."""
    if len(word) > _LONGEST_GUESSED:
        return None
    options = {option.casefold(): option for option in allowed}
    close = get_close_matches(word.casefold(), options, n=1, cutoff=0.6)
    return options[close[0]] if close else None


def same_word(word: str, other: str) -> bool:
    """Whether two words differ only in case and in how their parts are joined: ``max-visits``, ``maxVisits``."""
    return _bare(word) == _bare(other)


def _bare(word: str) -> str:
    return word.replace("-", "").replace("_", "").replace(" ", "").casefold()


def homes(name: str) -> str:
    """Where a key of the language belongs, in words; empty for a word the language does not know."""
    places = [place for place in Place if name in KEYS_AT[place]]
    if len(places) == len(GATES) and set(places) == GATES:
        return "a gate"
    if set(places) == STATES:
        return "a state"
    return " or ".join(place.value for place in places)
