"""The examples do what they say: checked without a warning, tested without a model, run on the embedded one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mklang.analysis.runner import lint_machine
from mklang.cli.main import main
from mklang.lang.files import read_source
from mklang.lang.reader import read_machine

FOLDER = Path(__file__).parents[2] / "examples"
MACHINES = sorted(FOLDER.glob("*.mkl"))


@pytest.fixture(autouse=True)
def _at_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parent)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path))
    for name in ("MKLANG_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKLANG_CONFIG_DIR", str(tmp_path))


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_an_example_has_nothing_to_find(path: Path) -> None:
    source, _ = read_source(path)
    assert source is not None
    reading = read_machine(source)
    assert reading.machine is not None
    assert (*reading.diagnostics, *lint_machine(reading.machine, library={}, source=source)) == ()


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_an_example_has_scenarios_and_passes_them(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = path.with_suffix(".test.yaml")
    assert main(["test", str(path), "--script", str(script), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["failed"] == 0


def test_the_readme_names_every_example_and_only_those() -> None:
    text = (FOLDER / "README.md").read_text("utf-8")
    assert sorted(set(re.findall(r"\((\w+\.mkl)\)", text))) == [path.name for path in MACHINES]


@pytest.mark.model
@pytest.mark.parametrize(("quantity", "then"), [(2, "pay"), (6, "handover")])
def test_the_triage_runs_on_the_embedded_model(quantity: int, then: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "examples/ticket_triage.mkl", "--set", f"quantity={quantity}", "--format", "json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["status"] == "done"
    assert run["result"].strip()
    # What the tiny judge makes of the message is its own affair; what code decides is not.
    targets = {step["state"]: step["to"] for step in run["trace"]}
    assert targets["summary"] in {"amount", "answer"}
    assert targets.get("amount", then) == then
