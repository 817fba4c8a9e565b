"""A model judges, code enforces: a verdict out of a closed set, an action for each, and "refuse" for all else (S43)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from mklang.errors import AnswerFailed, UsageError
from mklang.guards.checked import Checked
from mklang.guards.guard import Guard
from mklang.guards.structure import Bounds
from mklang.patterns.conformance import Conformance
from mklang.stakes import GLOBS, Stake, stake_of

Asking: TypeAlias = Callable[[str], Awaitable[str]]
"""A way to ask a model: text in, text out. It is given nothing to write with."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a judge said. ``verdict`` None means that there is none, and ``why`` says why; code then refuses."""

    verdict: str | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A model that says one word out of ``verdicts``. The whole reply must be ``{"verdict": …, "reason": …}``: a word
    found somewhere in a text is no verdict. ``seconds`` is how long it may take."""

    name: str
    ask: Asking
    verdicts: tuple[str, ...]
    seconds: float = 60.0
    guard: Guard = field(init=False)

    def __post_init__(self) -> None:
        if len(set(self.verdicts)) < 2 or not all(self.verdicts):
            raise UsageError(f"judge '{self.name}' needs two verdicts or more to choose from, each once")
        properties = {"verdict": {"enum": list(self.verdicts)}, "reason": {"type": "string", "maxLength": 2000}}
        schema = {
            "type": "object",
            "required": ["verdict"],
            "properties": properties,
            "additionalProperties": False,
        }
        guard = Guard(name=f"{self.name}-verdict", schema=schema, bounds=Bounds(bytes=16_384, depth=4))
        object.__setattr__(self, "guard", guard)

    async def decide(self, question: str) -> Decision:
        """Ask once. A reply that is late, missing, or anything but one verdict of the set, is no verdict."""
        try:
            async with asyncio.timeout(self.seconds):
                reply: object = await self.ask(question)
        except TimeoutError:
            return Decision(None, f"no answer within {self.seconds:g} s")
        except AnswerFailed as failed:
            return Decision(None, str(failed))
        if not isinstance(reply, str):
            return Decision(None, "the reply is no text")
        found = self.guard.examine(reply)
        if not isinstance(found, Checked):
            return Decision(None, "; ".join(str(failure) for failure in found[:3]))
        return Decision(found.value["verdict"], found.value.get("reason", ""))

    def conformance(self) -> Conformance:
        """What a review asks of a judge."""
        facts = (
            ("verdicts", ", ".join(self.verdicts)),
            ("read by", f"guard '{self.guard.name}', the whole reply"),
            ("late, missing or unknown", f"no verdict, after {self.seconds:g} s at most"),
            ("can write", "no: it is text in, text out"),
        )
        return Conformance("judge (model → verdict)", self.name, facts)


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's yes to exactly this content at exactly this place. ``out_sha`` is the checked value's."""

    approver: str
    target: str
    out_sha: str


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """A checked value and the place it is meant for."""

    target: str
    content: Checked[T]


@dataclass(frozen=True, slots=True)
class Enforced(Generic[R]):
    """What code did: ``result`` is the action's, where one was taken."""

    taken: bool
    why: str
    verdict: str | None
    stake: Stake
    result: R | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforce(Generic[T, R]):
    """What code does on each verdict; everything that is no verdict is refused, and nothing can turn that off.

    ``actions`` maps every verdict of the judge to a function of the change, or to None, which refuses. ``stakes`` says
    by path what a change is worth: from behaviour on, an action is taken only with a person's approval of this very
    content, so that the judge can stop such a change and never pass it. Raises ``UsageError`` unless the map is total.
    """

    judge: Judge
    actions: Mapping[str, Callable[[Change[T]], R] | None]
    stakes: Mapping[Stake, Sequence[str]] = field(default_factory=lambda: GLOBS)

    def __post_init__(self) -> None:
        missing = [verdict for verdict in self.judge.verdicts if verdict not in self.actions]
        extra = [verdict for verdict in self.actions if verdict not in self.judge.verdicts]
        if missing or extra:
            what = (
                f"has no action for {', '.join(missing)}"
                if missing
                else f"has actions for no verdict: {', '.join(extra)}"
            )
            raise UsageError(f"enforcing judge '{self.judge.name}' {what}; write None to refuse")
        if all(action is not None for action in self.actions.values()):
            raise UsageError(f"judge '{self.judge.name}' can stop nothing: no verdict is mapped to None")
        object.__setattr__(self, "actions", MappingProxyType(dict(self.actions)))

    async def __call__(self, question: str, change: Change[T], *, approval: Approval | None = None) -> Enforced[R]:
        """Ask the judge and act on what it says."""
        if not isinstance(change.content, Checked):
            raise TypeError(f"a change holds what a guard has checked, not {type(change.content).__name__}")
        return self.apply(await self.judge.decide(question), change, approval=approval)

    def apply(self, decision: Decision, change: Change[T], *, approval: Approval | None = None) -> Enforced[R]:
        """Act on a decision. The content is hashed again: what was changed since its check is refused with an error."""
        stake, verdict = stake_of(change.target, self.stakes), decision.verdict
        action = None if verdict is None else self.actions.get(verdict)
        if action is None:
            return Enforced(False, decision.why or "refused", verdict, stake)
        change.content.content()
        if stake.needs_person and not _approved(change, approval):
            why = f"'{change.target}' holds {stake.name.lower()}: a person has to approve this very content"
            return Enforced(False, why, verdict, stake)
        return Enforced(True, decision.why, verdict, stake, action(change))

    def conformance(self) -> Conformance:
        """What a review asks of an enforcer."""
        mapped = [f"{verdict} → {_named(action)}" for verdict, action in self.actions.items()]
        facts = (
            ("actions", ", ".join(mapped)),
            ("no verdict", "refused"),
            ("stakes", "by target path, in code; behaviour, control and evidence need a person's approval"),
        )
        return Conformance("enforce (verdict → code)", self.judge.name, facts, (self.judge.conformance(),))


def _approved(change: Change[Any], approval: Approval | None) -> bool:
    return (
        isinstance(approval, Approval)
        and bool(approval.approver.strip())
        and approval.target == change.target
        and approval.out_sha == change.content.receipt.out_sha
    )


def _named(action: object) -> str:
    return "refuse" if action is None else str(getattr(action, "__name__", type(action).__name__))
