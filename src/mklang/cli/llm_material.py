"""The author's own outputs, to be judged first: what scenarios write, and what runs have written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from mklang.durable.journal import read_journal
from mklang.engine.requests import Produced
from mklang.engine.trace import TraceStep
from mklang.errors import MklangError
from mklang.host.library import library_around
from mklang.lang.models import Machine
from mklang.oracles.recording import Answered
from mklang.testing.playing import play
from mklang.testing.reading import load_scenarios
from mklang.testing.scenario import Scenario

_WRITTEN = re.compile(r"\d+:([^/\[]+)(?:\[\d+\])?/produce")


def material_for(path: str, machine: Machine, named: Iterable[str]) -> dict[str, list[str]]:
    """Outputs by state: from the scenario file beside the machine, and from the files that were named.

    A file that cannot be used for this machine gives nothing: the lint goes on with synthetic outputs.
    """
    beside = Path(path).with_suffix(".test.yaml")
    found: dict[str, list[str]] = {}
    for file in dict.fromkeys([*([str(beside)] if beside.is_file() else []), *named]):
        texts = (
            _from_scenarios(file, path, machine) if file.endswith((".yaml", ".yml")) else _from_journal(file, machine)
        )
        for state, outputs in texts.items():
            known = found.setdefault(state, [])
            known += [text for text in outputs if text not in known]
    return found


def _from_scenarios(file: str, path: str, machine: Machine) -> Mapping[str, list[str]]:
    library = library_around(path, machine)
    texts: dict[str, list[str]] = {}
    for entry in load_scenarios(file).entries:
        if not isinstance(entry, Scenario):
            continue
        outcome = asyncio.run(play(entry, machine, library)).outcome
        for step in outcome.trace if outcome is not None else ():
            texts.setdefault(step.state, []).extend(_outputs(step))
    return texts


def _outputs(step: TraceStep) -> list[str]:
    if step.branches is not None:
        return [text for text in step.branches if text]
    return [step.output] if step.output else []


def _from_journal(file: str, machine: Machine) -> Mapping[str, list[str]]:
    texts: dict[str, list[str]] = {}
    try:
        journal = read_journal(Path(file))
    except MklangError:
        return texts
    if journal.begin.machines[0].name != machine.name:
        return texts
    for line in journal.lines:
        found = _WRITTEN.fullmatch(line.key) if isinstance(line, Answered) else None
        if found and isinstance(line, Answered) and isinstance(line.answer, Produced):
            texts.setdefault(found[1], []).append(line.answer.text)
    return texts
