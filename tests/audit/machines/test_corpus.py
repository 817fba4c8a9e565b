"""The audit of machines over a corpus: unguarded ways are found with their stations, guarded ones stay silent (S50)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mklang.audit.machines import Protection, audit_machines
from mklang.engine.options import Effect
from mklang.host.guards import guards_of
from mklang.lang.reader import machine_from_text
from tests.audit.machines.corpus import CASES, Case

pytestmark = pytest.mark.rule("S50")

NOTE = "guard: note\nbounds: { bytes: 100 }\n"


def audited(case: Case, folder: Path) -> list[tuple[str, str]]:
    (folder / "note.guard.yaml").write_text("guard: note\n" if case.vacuous else NOTE)
    (folder / "guards.yaml").write_text(
        case.bindings.replace("tool:", "'tool:").replace("_file:", "_file':").replace("_mail:", "_mail':")
    )
    machines = [machine_from_text(text, str(folder / f"{number}.mkl")) for number, text in enumerate(case.machines)]
    guards = guards_of(str(folder / "0.mkl"), machines)
    assert not [found for found in guards.diagnostics if found.code != "guards-empty"]
    effects = {name: Effect(word) for name, word in case.effects.items()}
    protection = Protection(bindings=guards.bindings, named=guards.named, effects=effects)
    found = audit_machines(machines, protection)
    return sorted((one.code, one.where.split(".")[1]) for one in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_each_case_gives_exactly_its_findings(case: Case, tmp_path: Path) -> None:
    assert audited(case, tmp_path) == sorted(case.finds)
