"""Running a directory of conformance cases (L94): promises in a form that any other implementation can run too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.diagnostics import Diagnostic, Severity, has_errors
from mklang.errors import UsageError
from mklang.lang.fields import Fields
from mklang.lang.files import read_source
from mklang.lang.findings import Findings
from mklang.lang.models import END, Machine
from mklang.lang.nodes import read_map
from mklang.lang.reader import read_machine_node
from mklang.lang.yaml_tree import Node, Position, compose
from mklang.oracles.scripted import HookAnswerer, Manner
from mklang.source import Source
from mklang.testing.matching import NotPlayed
from mklang.testing.parts import RULES, report_unknown
from mklang.testing.playing import BUILT_IN_HOOKS, Around, Played, play
from mklang.testing.reading import read_body
from mklang.testing.scenario import Scenario
from mklang.testing.vocabulary import Part

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conformance case: a machine, the machines it may call, and how it must run."""

    machine: Machine
    library: Mapping[str, Machine]
    scenario: Scenario


def run_directory(directory: Path, *, hooks: HookAnswerer = BUILT_IN_HOOKS) -> tuple[Played, ...]:
    """Run every case in a directory, in the order of their names. Raises ``UsageError`` when there is none."""
    return tuple(run_case(path, hooks=hooks) for path in case_files(directory))


def case_files(directory: Path) -> list[Path]:
    """The case files of a directory; raises ``UsageError`` when there is none, because nothing would be tested."""
    if not directory.is_dir():
        raise UsageError(f"{directory}: {'this is a file' if directory.exists() else 'there is no such directory'}")
    found = sorted(path for path in directory.iterdir() if path.suffix in SUFFIXES and path.is_file())
    if not found:
        raise UsageError(f"{directory}: no case files (*.yaml) in this directory")
    return found


def run_case(path: Path, *, hooks: HookAnswerer = BUILT_IN_HOOKS) -> Played:
    """Run the case in a file. A case that cannot be read fails with its problems."""
    source, problems = read_source(path)
    case, problems = (None, problems) if source is None else read_case(source, path.stem)
    if case is None:
        errors = (found for found in problems if found.severity is Severity.ERROR)
        return Played(path.stem, tuple(NotPlayed(found.render()) for found in errors))
    around = Around(hooks=hooks)
    return asyncio.run(play(case.scenario, case.machine, case.library, manner=Manner.PUBLISHED, around=around))


def read_case(source: Source, stem: str) -> tuple[Case | None, tuple[Diagnostic, ...]]:
    """Read a case document; ``stem`` is the file's name without suffix, which the case must bear."""
    root, problems = compose(source)
    if problems:
        return None, problems
    if root is None:
        return None, (Diagnostic(code="not-a-case", message="the file is empty", path=source.name),)
    findings = Findings(source.name)
    entries = read_map(root, findings, "", "a conformance case is a map")
    if entries is None:
        return None, findings.everything()
    fields = Fields(entries, findings, RULES, where="", at=Position(root))
    meant = report_unknown(fields, Part.CASE)
    _check_name(fields, meant, stem)
    scenario = read_body(fields, stem, meant, manner=Manner.PUBLISHED)
    machines, about_machines = _machines(fields, meant, source)
    diagnostics = (*findings.everything(), *about_machines)
    machine = machines.pop("", None)
    if machine is None or has_errors(diagnostics):
        return None, diagnostics
    return Case(machine=machine, library=machines, scenario=scenario), diagnostics


def _check_name(fields: Fields, meant: set[str], stem: str) -> None:
    fields.text("description")
    name = fields.text("case")
    if "case" not in fields and "case" not in meant:
        fields.missing("case", Part.CASE.value)
    elif name is not None and name != stem:
        fields.problem("bad-value", "case", f"the case is called '{name}' and its file '{stem}'")


def _machines(fields: Fields, meant: set[str], source: Source) -> tuple[dict[str, Machine], tuple[Diagnostic, ...]]:
    """The case's own machine under the empty name, and those of its registry by theirs, all read leniently (L5)."""
    nodes: dict[str, Node] = {name: node for name, (_, node) in (fields.mapping("registry") or {}).items()}
    if "machine" in fields:
        nodes[""] = fields.entries["machine"][1]
    elif "machine" not in meant:
        fields.missing("machine", Part.CASE.value)
    machines: dict[str, Machine] = {}
    diagnostics: list[Diagnostic] = []
    for name, node in nodes.items():
        reading = read_machine_node(node, source, lenient=True)
        diagnostics += reading.diagnostics
        if reading.machine is not None:
            diagnostics += _dangling(reading.machine)
            machines[name] = reading.machine
    return machines, tuple(diagnostics)


def _dangling(machine: Machine) -> list[Diagnostic]:
    """Places a run would go to and not find. The rest of the analysis does not apply: a case may loop for ever."""
    path = machine.source_name
    found = []
    if machine.entry not in machine.states:
        message = f"'{machine.entry}' is not a state"
        found.append(
            Diagnostic(code="unknown-entry", message=message, path=path, span=machine.at.value("entry"), where="entry")
        )
    for state in machine.states.values():
        for gate in state.gates:
            if gate.target is not None and gate.target != END and gate.target not in machine.states:
                message = f"'{gate.target}' is not a state"
                where = f"states.{state.id}.gates[{gate.index}].to"
                found.append(
                    Diagnostic(code="unknown-target", message=message, path=path, span=gate.at.value("to"), where=where)
                )
    return found
