"""The machines that come with mklang: what each promises, and that none takes money and gives nothing (L118)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.analysis.runner import Analyser
from mklang.cli.main import main
from mklang.engine.options import RunOptions
from mklang.engine.outcome import to_wire
from mklang.engine.requests import Answer, Hook, HookValue, Judge, Produce, Produced, Verdict
from mklang.engine.run import arun
from mklang.host.guards import guards_of
from mklang.host.layers import BUNDLED, bundled_names
from mklang.host.library import callees_of, library_around
from mklang.host.suites import Suite, coverages
from mklang.host.suites import Tester as Player
from mklang.lang.files import read_source
from mklang.lang.models import Generative, Machine
from mklang.lang.reader import read_file, read_machine
from mklang.lang.values import Json
from tests.engine.worlds import World

pytestmark = pytest.mark.rule("L118")

INPUTS: dict[str, set[str]] = {
    "std_approval": {"approval"},
    "std_cascade": {"hint"},
    "std_compress": {"notes"},
    "std_cot": set(),
    "std_debate": {"personas"},
    "std_extract": {"document", "fields"},
    "std_map": {"items", "item_task"},
    "std_map_reduce": {"items", "item_task", "reduce_task"},
    "std_plan_execute": set(),
    "std_refine": {"criteria", "accepted"},
    "std_research": {"today", "notes", "found"},
    "std_router": set(),
    "std_self_consistency": {"ruling"},
    "std_tot": {"best"},
}
"""Each machine and what it takes besides ``task``."""
NAMES = sorted(INPUTS)


def machine(name: str) -> Machine:
    read = read_file(str(BUNDLED / f"{name}.mkl")).machine
    assert read is not None
    return read


def test_these_are_all_there_are() -> None:
    assert sorted(bundled_names()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_name_inputs_and_result_are_as_promised(name: str) -> None:
    found = machine(name)
    assert (found.name, found.result, set(found.context)) == (name, "answer", {"task"} | INPUTS[name])


@pytest.mark.parametrize("name", NAMES)
def test_lint_finds_nothing_in_it(name: str) -> None:
    source, _ = read_source(BUNDLED / f"{name}.mkl")
    assert source is not None
    reading = read_machine(source)
    assert reading.machine is not None
    library = library_around(source.name, reading.machine)
    found = Analyser(library).lint(reading.machine, source, known=reading.diagnostics)
    # A judge that decides whether somebody is asked is a note, and meant: without a person these machines fail.
    assert [one.render() for one in found if one.code != "escalate-judged"] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_contract_has_placeholders_that_nobody_fills_in(name: str) -> None:
    states = [state for state in machine(name).states.values() if isinstance(state, Generative)]
    assert [state.id for state in states if "{{" in f"{state.structure}{state.execution}"] == []


@pytest.mark.parametrize("name", NAMES)
def test_its_scenarios_pass_and_take_every_gate(name: str) -> None:
    tested = Player().play(Suite(str(BUNDLED / f"{name}.mkl"), str(BUNDLED / f"{name}.test.yaml")))
    assert [f"{one.name}: {one.mismatches}" for one in tested.played if not one.passed] == []
    assert tested.played
    assert [list(coverage.missing) for coverage in coverages([tested])] == [[]]


@pytest.mark.parametrize("path", sorted(BUNDLED.iterdir()), ids=lambda path: path.name)
def test_other_readers_of_yaml_read_it_too(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)  # the loader in pure Python is the strictest


class Whimsical(World):
    """Judges, hooks and people of whom nobody knows what they will say, out of a list of numbers."""

    def __init__(self, whims: list[int]) -> None:
        super().__init__(judge=self._judge, hook=self._hook, produce=self._produce)
        self._whims = iter(whims)

    def _next(self, choices: int) -> int:
        return next(self._whims, 0) % choices

    def _judge(self, request: Judge) -> Answer:
        number = self._next(len(request.conditions) + 1)
        return Verdict(index=None if number == len(request.conditions) else number)

    def _hook(self, _request: Hook) -> Answer:
        return HookValue(self._next(2) == 1)

    def _produce(self, request: Produce) -> Answer:
        return Produced(text='["a", "b", "c"]' if "/plan" in request.key or ":plan/" in request.key else "text")


def run(name: str, world: World, inputs: dict[str, Json], **options: Any) -> dict[str, Json]:
    found = machine(name)
    path = str(BUNDLED / f"{name}.mkl")
    library = callees_of(found, library_around(path, found)).machines
    guards = guards_of(path, (found, *library.values()))
    return to_wire(
        asyncio.run(
            arun(
                found,
                inputs,
                oracle=world,
                library=library,
                options=RunOptions(**options),
                guards=guards.bindings or None,
            )
        )
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(whims=st.lists(st.integers(0, 5), max_size=40))
def test_whatever_is_decided_no_run_ends_at_a_budget_or_ceiling_it_has_paid_up_to(name: str, whims: list[int]) -> None:
    ended = run(name, Whimsical(whims), {"items": ["x", "y"]})
    assert ended["status"] == "done" or ended["error"] == "gate-fail", ended["error"]


@pytest.mark.parametrize("name", ["std_map", "std_map_reduce"])
def test_as_many_items_as_the_budget_allows_are_done_and_one_more_costs_nothing(name: str) -> None:
    full: list[Json] = ["x"] * 1000
    assert run(name, World(), {"items": full})["status"] == "done"
    world = World()
    ended = run(name, world, {"items": [*full, "x"]})
    assert str(ended["error"]).endswith("budget-exhausted")
    assert world.prompts == []
    assert run(name, World(), {"items": [*full, "x"]}, budgets={"std_map": 1001})["status"] == "done"


@pytest.mark.rule("L20")
def test_a_project_calls_them_and_may_put_its_own_in_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "caller.mkl").write_text(
        "machine: caller\nentry: a\nbudget: 4\nresult: r\nstates:\n  a:\n    call: std_cot\n"
        "    input: { task: hello }\n    output: r\n    gates: [{ when: otherwise, then: ok, to: END }]\n"
    )
    path = str(tmp_path / "caller.mkl")
    assert main(["check", path]) == 0
    assert "0 warnings" in capsys.readouterr().out
    own = (BUNDLED / "std_cot.mkl").read_text("utf-8").replace("budget: 3", "budget: 9")
    (tmp_path / "std_cot.mkl").write_text(own)
    assert main(["check", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "std_cot.mkl: warning: machine-hides-bundled" in told
    caller = read_file(path).machine
    assert caller is not None
    assert callees_of(caller, library_around(path, caller)).machines["std_cot"].budget == 9


@pytest.mark.rule("L20", "L118")
def test_a_guard_of_a_bundled_machine_comes_with_it(tmp_path: Path) -> None:
    called = machine("std_extract")
    guards = guards_of(str(tmp_path / "caller.mkl"), (called,))
    assert guards.diagnostics == ()
    assert "guard:std_extract" in guards.hooks


@pytest.mark.model
@pytest.mark.rule("L21")
def test_one_runs_by_its_name_on_the_embedded_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "run",
        "std_refine",
        "--no-keep",
        "--set",
        "task=Say that the office is closed on Friday.",
        "--format",
        "text",
    ]
    assert main(call) in (0, 1)
    assert "std_refine" in capsys.readouterr().err
