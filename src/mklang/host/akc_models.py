"""Models for a knowledge cycle: its machines as workers of its pipelines. Prints nothing."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mklang.errors import UsageError
from mklang.host.akc import Cycle
from mklang.host.seam import REAL, Seam
from mklang.host.session import Order, Session, prepare
from mklang.knowledge.config import Form
from mklang.knowledge.distil import Choice, Distillation, Distiller, Stage
from mklang.knowledge.lines import lines_worker
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.schemas import prose_guard
from mklang.lang.semantics import semantic_hash
from mklang.patterns import machine_worker

MACHINES = Path(__file__).parent.parent / "knowledge" / "machines"
"""The bundled machines of the cycle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Which models answer, as for a run."""

    config: str | None = None
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    seam: Seam = field(default=REAL)

    @classmethod
    def of(cls, flags: Mapping[str, Any]) -> Asking:
        """As the flags of a command say."""
        return cls(**{name: flags[name] for name in ("config", "provider", "model", "base_url")})

    def session(self, machine: Path, *, given: Iterable[str] = ()) -> Session:
        """A session of a machine; its oracle answers any machine. Raises ``UsageError`` for a machine that does not
        read a context key it is ``given``: what is chosen for it would silently not be sent."""
        order = Order(
            path=str(machine), config=self.config, provider=self.provider, model=self.model, base_url=self.base_url
        )
        session = prepare(order, seam=self.seam)
        text = machine.read_text("utf-8-sig")
        for key in given:
            if key not in session.machine.context or not re.search(rf"\{{\{{\s*{key}\s*\}}\}}", text):
                raise UsageError(
                    f"{machine}: this machine has to read '{key}': declare it in 'context', use {{{{{key}}}}}"
                )
        return session


def stage_of(session: Session) -> Stage:
    """A machine as a stage."""
    worker = machine_worker(session.machine, lambda: session.oracle, library=session.library, options=session.options)
    return Stage(worker=worker, identity=semantic_hash(session.machine))


def model_of(session: Session) -> str:
    """The models of a session in one line."""
    tiers = session.models.tiers if session.models else {}
    return ", ".join(dict.fromkeys(tiers.values()))


@asynccontextmanager
async def distiller(cycle: Cycle, asking: Asking, log: EpisodeLog, *, anew: bool) -> AsyncIterator[Distiller]:
    """A distiller with its models, which are let go of afterwards."""
    config, project = cycle.config, cycle.home.project
    paths = [
        project / own if own else MACHINES / f"{name}.mkl"
        for name, own in (("reflect", config.reflect), ("format", config.format))
    ]
    keys = ("episodes", "reflection")
    sessions = [asking.session(path, given=(key,)) for path, key in zip(paths, keys, strict=True)]
    try:
        reflect, form = (stage_of(session) for session in sessions)
        if config.form is Form.LINES:
            form = Stage(worker=lines_worker(form.worker), identity=f"lines:{form.identity}")
        yield Distiller(
            home=cycle.home,
            store=cycle.store(),
            log=log,
            reflect=reflect,
            format=form,
            model=model_of(sessions[0]),
            prose=prose_guard(config.forbidden),
            again_failed=anew,
        )
    finally:
        for session in sessions:
            await session.close()


async def distil(cycle: Cycle, asking: Asking, choice: Choice, *, anew: bool = False) -> Distillation:
    """Choose and distil. Nothing chosen: no model is loaded."""
    chosen = cycle.choose(choice)
    if not chosen.selection:
        return Distillation.nothing(chosen)
    with cycle.log() as log:
        async with distiller(cycle, asking, log, anew=anew) as pipeline:
            return await pipeline.run(chosen)


async def again(cycle: Cycle, asking: Asking, run: str, *, anew: bool = False) -> Distillation:
    """Give the stored prose of a run its form anew."""
    with cycle.log() as log:
        async with distiller(cycle, asking, log, anew=anew) as pipeline:
            return await pipeline.again(run)
