"""Layer 2 from layer 1 in two stages: a filter in code, free reasoning, form, a guard, then the store (S48).

Code owns the loop, the retries and every write. A model is asked twice, for meaning.
"""

from __future__ import annotations

from pathlib import Path

from episode_log import now
from knowledge_store import HarnessStore

from mklang.engine.oracle import Oracle
from mklang.knowledge import Choice, Distiller, EpisodeLog, Home, Stage, choose
from mklang.knowledge.distil import Distillation
from mklang.knowledge.lines import lines_worker
from mklang.lang.reader import machine_from_text
from mklang.lang.semantics import semantic_hash
from mklang.patterns import Selection, machine_worker

HERE = Path(__file__).parent


def texts(selection: Selection) -> str:
    """What the small model is shown: the words alone."""
    return "\n".join(str(record["data"]["text"]) for record in selection.records)  # type: ignore[index, call-overload]


def stage(name: str, oracle: Oracle) -> Stage:
    """A machine of this folder as a stage; what it means is part of the run's name."""
    path = HERE / f"{name}.mkl"
    machine = machine_from_text(path.read_text("utf-8"), str(path))
    return Stage(worker=machine_worker(machine, lambda: oracle), identity=semantic_hash(machine))


async def distill(home: Home, store: HarnessStore, oracle: Oracle, model: str) -> Distillation:
    """Distil what is new in the log. Nothing new: no model is asked. The same again: nothing changes."""
    reflect, form = stage("reflect", oracle), stage("format", oracle)
    lines = Stage(worker=lines_worker(form.worker), identity=f"lines:{form.identity}")
    with EpisodeLog(home.logs, now) as log:
        stages = {"reflect": reflect, "format": lines}
        pipeline = Distiller(home=home, store=store.inner, log=log, model=model, render=texts, **stages)
        return await pipeline.run(choose(home, Choice(items=100, bytes=20_000), store.inner))
