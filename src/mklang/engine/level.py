"""One machine's run: its blackboard, counters and trace, and what it shares with the levels above and below."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from mklang.engine.blackboard import Blackboard
from mklang.engine.budget import Pool
from mklang.engine.events import Observer
from mklang.engine.fence import Nonces
from mklang.engine.guarding import Guarding
from mklang.engine.options import RunOptions
from mklang.engine.oracle import Oracle, Remembering, most_of
from mklang.engine.outcome import Outcome, PendingAsk, Reason
from mklang.engine.requests import NO_USAGE, Answer, Request, Usage
from mklang.lang.models import Generative, Machine, State, Tier

if TYPE_CHECKING:
    from mklang.engine.trace import SubTrace, TraceStep


class StateHalt(Exception):
    """Inside the kernel only: this state cannot go on, and why. The loop turns it into a recorded step and a halt."""

    def __init__(self, reason: Reason, detail: str = "", *, message: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.message = message
        self.output: str | None = None
        self.sub_trace: SubTrace | None = None

    @property
    def error(self) -> str:
        """The published error text."""
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


class Suspension(Exception):
    """Inside the kernel only: the run waits here. Unwinds every level up to the run itself; nothing else catches it."""

    def __init__(
        self,
        reason: Reason,
        at: str,
        *,
        asks: tuple[PendingAsk, ...] = (),
        stack: tuple[str, ...] = (),
        message: str = "",
    ) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.at = at
        self.asks = asks
        self.stack = stack
        self.message = message


class Shared:
    """What all levels of one run have in common. ``walk`` runs one level: a call state runs its callee with it."""

    __slots__ = ("guards", "library", "limiter", "nonces", "observer", "options", "oracle", "pool", "seed", "walk")

    def __init__(
        self,
        oracle: Oracle,
        library: Mapping[str, Machine],
        options: RunOptions,
        *,
        seed: str,
        observer: Observer | None,
        walk: Callable[[Level], Awaitable[Outcome]],
        guards: Guarding | None = None,
    ) -> None:
        self.oracle = oracle
        self.library = library
        self.options = options
        self.seed = seed
        self.nonces = Nonces(seed)
        self.walk = walk
        self.guards = guards
        self.observer = observer
        self.pool = Pool(options.max_tokens, options.max_nano_usd)
        self.limiter = asyncio.Semaphore(options.concurrency) if options.concurrency else None

    def ask(self, request: Request) -> Awaitable[Answer]:
        """Put one request to the oracle, within the concurrency limit."""
        return self.oracle.answer(request) if self.limiter is None else self._in_turn(request, self.limiter)

    def ask_model(self, request: Request) -> Awaitable[Answer]:
        """Put a request that costs tokens to the oracle, unless it can cost more than is left when its turn comes."""
        if not self.pool.limited:
            return self.ask(request)
        self.check_tokens(request.key)
        return self._afforded(request) if self.limiter is None else self._in_turn(request, self.limiter, costs=True)

    async def _in_turn(self, request: Request, limiter: asyncio.Semaphore, *, costs: bool = False) -> Answer:
        async with limiter:
            return await (self._afforded(request) if costs else self.oracle.answer(request))

    async def _afforded(self, request: Request) -> Answer:
        self.check_tokens(request.key)
        most = most_of(self.oracle, request)
        if not most.total and not most.nano_usd:
            return await self.oracle.answer(request)
        async with self.pool.holding(most):
            return await self.oracle.answer(request)

    def check_tokens(self, key: str) -> None:
        """Refuse to go on once the token or money limit is reached, unless the answer is there and paid for already."""
        spent = self.pool.exhausted
        if spent and not (isinstance(self.oracle, Remembering) and self.oracle.remembers(key)):
            raise StateHalt(Reason.COST_EXHAUSTED, message=spent)


class Level:
    """The state of one machine's run. Mutable, owned by one task; branches work on copies of the blackboard."""

    __slots__ = (
        "board",
        "depth",
        "entries",
        "feedback",
        "flow_tainted",
        "machine",
        "parent_run_id",
        "prefix",
        "repairs",
        "run_id",
        "shared",
        "step_limit",
        "steps",
        "trace",
        "usage",
        "visits",
    )

    def __init__(self, machine: Machine, shared: Shared, *, prefix: str = "", depth: int = 0) -> None:
        self.machine = machine
        self.shared = shared
        self.prefix = prefix
        self.depth = depth
        self.board = Blackboard(machine.context)
        self.step_limit = _step_limit(machine, shared.options, depth)
        self.steps = 0
        self.entries = 0
        self.usage = NO_USAGE
        self.trace: list[TraceStep] = []
        self.visits: dict[str, int] = {}
        self.repairs: dict[tuple[str, int], int] = {}
        self.feedback: str | None = None
        self.flow_tainted = False
        self.run_id = ""
        self.parent_run_id: str | None = None

    def tier_of(self, state: State) -> Tier:
        """The tier a state runs and is judged at."""
        return state.tier or self.machine.default_tier

    def charge(self, step: TraceStep, usage: Usage) -> None:
        """Count what an answer cost: for the step, for this level and for the whole run."""
        if usage is not NO_USAGE:
            step.usage = step.usage + usage
            self.usage = self.usage + usage
            self.shared.pool.charge(usage)


def _step_limit(machine: Machine, options: RunOptions, depth: int) -> int:
    """The machine's step budget; the host's limit replaces the root's (L86)."""
    if depth == 0 and options.max_steps is not None:
        return options.max_steps
    return options.budgets.get(machine.name, machine.budget)


def kind_of(state: State) -> str:
    """The state's kind as the language names it."""
    return "generative" if isinstance(state, Generative) else type(state).__name__.lower()
