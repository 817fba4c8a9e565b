"""A host in a program: one configuration with its tools and hooks, that runs machines (L119).

Immutable, and it shares nothing with another one. A run ends in a value; what cannot be run raises before anything is
asked.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from mklang.durable.journal import JournalFile
from mklang.durable.service import answer_question
from mklang.engine.events import AnyEvent, Observer
from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Outcome
from mklang.engine.requests import Answer, Request
from mklang.errors import UsageError
from mklang.hooks.builtin import HookFunction
from mklang.hooks.hook import HostHook
from mklang.hooks.registry import HookRegistry
from mklang.host.configuration import Configuration, resolve
from mklang.host.judge_config import Manner
from mklang.host.plugins import plugins_of
from mklang.host.runs import Keeping, begin, check_same, go_on, reopen, stored_source
from mklang.host.seam import REAL, Seam
from mklang.host.session import Loaded, Order, Session, assemble, load
from mklang.lang.values import Json
from mklang.tools.registry import ToolRegistry
from mklang.tools.tool import HostTool, ToolFunction

MachineLike = str | os.PathLike[str] | Loaded
"""A machine's file or name, or one that is loaded."""


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """What machines run on.

    ``tools`` and ``hooks`` are those made with ``@mklang.tool`` and ``@mklang.hook``, or functions by name; they stand
    before the built-in ones. ``config`` is a configuration file; without it the usual places are looked at, for a
    person who works in ``folder``. ``provider``, ``model``, ``base_url`` and ``judge`` choose models as the flags of
    ``mklang run`` do. ``workspace`` and ``allow_write`` are for the file tools. ``options`` are the policies of every
    run. ``oracle`` answers in place of models, tools and hooks: for tests.

    Raises ``ConfigError`` or ``DocumentError`` for a configuration that cannot be used.
    """

    tools: Iterable[HostTool] | Mapping[str, HostTool | ToolFunction] = ()
    hooks: Iterable[HostHook] | Mapping[str, HostHook | HookFunction] = ()
    config: str | os.PathLike[str] | None = None
    folder: str | os.PathLike[str] | None = None
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    judge: Manner | str | None = None
    workspace: str | os.PathLike[str] | None = None
    allow_write: bool | None = None
    options: RunOptions = DEFAULT_OPTIONS
    run_seconds: float | None = None
    request_seconds: float | None = None
    environ: Mapping[str, str] | None = None
    oracle: Oracle | None = None
    seam: Seam = REAL
    configuration: Configuration = field(init=False)

    def __post_init__(self) -> None:
        """Settle the configuration, once."""
        manners = [manner.value for manner in Manner]
        if self.judge is not None and not isinstance(self.judge, Manner) and self.judge not in manners:
            raise UsageError(f"judge is {' or '.join(manners)}, not {self.judge!r}")
        settled = resolve(
            config=None if self.config is None else os.fspath(self.config),
            environ=None if self.environ is None else dict(self.environ),
            here=None if self.folder is None else Path(self.folder),
        )
        object.__setattr__(self, "configuration", settled)
        object.__setattr__(self, "tools", ToolRegistry(self.tools))
        object.__setattr__(self, "hooks", HookRegistry(self.hooks))

    def load(self, machine: str | os.PathLike[str], *, strict: bool = False, guards: str | None = None) -> Loaded:
        """Read and check a machine with everything it can call. Raises ``DocumentError`` with every problem."""
        brought = plugins_of(self.configuration)
        return load(os.fspath(machine), strict=strict, guards=guards, plugins=brought)

    async def arun(
        self,
        machine: MachineLike,
        inputs: Mapping[str, Json] | None = None,
        *,
        options: RunOptions | None = None,
        observer: Observer | None = None,
        journal: str | os.PathLike[str] | None = None,
    ) -> Outcome:
        """Run a machine to its end, or until it waits.

        ``inputs`` maps context paths to values. With ``journal``, a file that does not exist yet, every answer is kept
        there, and :meth:`aresume` goes on. Raises ``DocumentError``, ``ConfigError`` and their like before anything is
        asked; what happens in the run is in the outcome.
        """
        session = await asyncio.to_thread(self._session, machine, inputs or {}, options)
        if journal is None:
            return await session.run(observer)
        keeping = Keeping(folder=Path(journal).parent, path=Path(journal))
        return await begin(session, keeping, seam=self.seam).run(observer)

    async def aresume(
        self,
        journal: str | os.PathLike[str],
        reply: Mapping[str, Json] | None = None,
        *,
        confirms: bool | None = None,
        observer: Observer | None = None,
    ) -> Outcome:
        """Go on with a run that waits or broke off; what was answered is not asked again.

        ``reply`` answers the question that waits, a value for each of its context paths; ``confirms`` says whether it
        is a yes, None lets its own words decide (L80). Raises ``RunStoreError`` for a run that is finished or whose
        machine has changed.
        """
        kept = reopen(Path(journal))
        try:
            return await self._go_on(kept, reply, confirms, observer)
        finally:
            kept.close()

    async def _go_on(
        self, journal: JournalFile, reply: Mapping[str, Json] | None, confirms: bool | None, observer: Observer | None
    ) -> Outcome:
        source = stored_source(journal.begin)
        if source is None:
            raise UsageError(f"the machine of run '{journal.begin.run}' is no longer where it was")
        loaded = await asyncio.to_thread(self.load, source)
        check_same(journal.begin, loaded.machine, loaded.library)
        if reply:
            answer_question(journal, reply, confirms=confirms)
        session = await asyncio.to_thread(self._session, loaded, {}, None)
        keeping = Keeping(folder=journal.path.parent)
        return await go_on(session, journal, keeping, asked={}, seam=self.seam).run(observer)

    def run(
        self,
        machine: MachineLike,
        inputs: Mapping[str, Json] | None = None,
        *,
        options: RunOptions | None = None,
        observer: Observer | None = None,
        journal: str | os.PathLike[str] | None = None,
    ) -> Outcome:
        """:meth:`arun` for code that is not asynchronous. Raises ``UsageError`` inside a running event loop."""
        if _in_a_loop():
            raise UsageError("an event loop is running here: await runtime.arun(…) instead of runtime.run(…)")
        return asyncio.run(self.arun(machine, inputs, options=options, observer=observer, journal=journal))

    def stream(
        self,
        machine: MachineLike,
        inputs: Mapping[str, Json] | None = None,
        *,
        options: RunOptions | None = None,
    ) -> Stream:
        """Step a run from outside: ``async for event in runtime.stream(…)``.

        The run asks nobody anything while an event is held. ``outcome`` is there when the events have ended; a run
        whose stream is closed before that is called off.
        """
        return Stream(self, machine, inputs or {}, options)

    def _session(self, machine: MachineLike, inputs: Mapping[str, Json], options: RunOptions | None) -> Session:
        loaded = machine if isinstance(machine, Loaded) else self.load(machine)
        order = Order(
            path=loaded.machine.source_name,
            inputs=dict(inputs),
            options=self.options if options is None else options,
            provider=self.provider,
            model=self.model,
            base_url=self.base_url,
            judge=None if self.judge is None else Manner(self.judge),
            run_seconds=self.run_seconds,
            request_seconds=self.request_seconds,
            workspace=None if self.workspace is None else os.fspath(self.workspace),
            allow_write=self.allow_write,
        )
        return assemble(
            order,
            loaded,
            tools=self.tools,  # type: ignore[arg-type]  # a registry since __post_init__
            hooks=self.hooks,  # type: ignore[arg-type]  # as above
            configuration=self.configuration,
            oracle=self.oracle,
            seam=self.seam,
        )


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Stream(AsyncIterator[AnyEvent]):
    """The events of one run, which goes on as they are taken."""

    def __init__(
        self, runtime: Runtime, machine: MachineLike, inputs: Mapping[str, Json], options: RunOptions | None
    ) -> None:
        """Made by :meth:`Runtime.stream`; the run begins when the first event is asked for."""
        self._runtime = runtime
        self._asked = (machine, inputs, options)
        self._events: deque[AnyEvent] = deque()
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[Outcome] | None = None

    @property
    def outcome(self) -> Outcome:
        """How the run ended. Raises ``UsageError`` before it has."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            raise UsageError("the run has not ended: take its events first")
        return self._task.result()

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> AnyEvent:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(lambda _: self._changed.set())
        while not self._events:
            if self._task.done():
                self._task.result()
                raise StopAsyncIteration
            self._changed.clear()
            self._wanted.set()
            await self._changed.wait()
        event = self._events.popleft()
        if not self._events:
            self._wanted.clear()
        return event

    async def aclose(self) -> None:
        """Call the run off, unless it has ended."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _run(self) -> Outcome:
        machine, inputs, options = self._asked
        session = await asyncio.to_thread(self._runtime._session, machine, inputs, options)
        paced = replace(session, oracle=_Paced(session.oracle, self._wanted))
        return await paced.run(self._hear)

    def _hear(self, event: AnyEvent) -> None:
        self._events.append(event)
        self._wanted.clear()
        self._changed.set()


@dataclass(frozen=True, slots=True)
class _Paced:
    """An oracle that answers while events are wanted."""

    inner: Oracle
    wanted: asyncio.Event

    async def answer(self, request: Request, /) -> Answer:
        """The inner answer, once whoever takes the events waits for the next one."""
        await self.wanted.wait()
        return await self.inner.answer(request)
