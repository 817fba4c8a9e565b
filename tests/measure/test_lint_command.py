"""``mklang lint --llm`` at the command line: advice in the same stream, and static findings whatever happens."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mklang.cli import llm_lint_cli
from mklang.cli.main import main
from mklang.errors import ConfigError
from mklang.lang.models import Tier
from tests.measure.planted import Planted, Simulation, World

STATE = Planted("pair", 2, frozenset({World({0}), World({0, 1})}))
DOCUMENT = """mklang: "0.4"
machine: pair
entry: look
budget: 9
default_tier: fast
states:
  look:
    structure: A line of marks.
    prompt: Write marks.
    output: line
    gates:
      - { when: the output shows mark 0, then: ok, to: END }
      - { when: the output shows mark 1, then: ok, to: END }
      - { when: otherwise, then: ok, to: END }
"""


class Planting:
    """A simulation where a model and a judge are expected."""

    def __init__(self) -> None:
        self.simulation = Simulation(STATE)
        self.model = "planted"
        self.params: dict[str, Any] = {}
        self.backend = self

    async def produce(self, request: Any, **_: Any) -> Any:
        return await self.simulation.answer(request)

    async def judge(self, request: Any) -> Any:
        return await self.simulation.answer(request)

    async def aclose(self) -> None:
        return None


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("pair.mkl").write_text(DOCUMENT, "utf-8")
    return "pair.mkl"


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(**_: Any) -> SimpleNamespace:
        planting = Planting()
        return SimpleNamespace(
            prices={},
            tiers=dict.fromkeys(Tier, planting),
            judge=planting,
            notice="planted",
            judged_by=dict.fromkeys(Tier, "planted-noul"),
            whole_decisions=frozenset(Tier),
            aclose=planting.aclose,
        )

    monkeypatch.setattr(llm_lint_cli, "choose_models", choose)
    monkeypatch.setattr(llm_lint_cli, "resolve", lambda **_: SimpleNamespace(models=None))


@pytest.mark.rule("L19", "S5", "S9", "S13")
@pytest.mark.usefixtures("planted")
def test_findings_stand_beside_the_static_ones_and_strict_does_not_promote_them(
    machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", "--llm", "--strict", "--format", "json", machine]) == 0
    wire = json.loads(capsys.readouterr().out)
    item = wire["items"][0]
    assert {one["kind"] for one in item["llm_findings"]} == {"overlap", "shadowed"}
    assert item["status"] == "ok"
    assert set(wire["llm_report"]["judge_models"].values()) == {"planted-noul"}


@pytest.mark.rule("S29")
@pytest.mark.usefixtures("planted")
def test_every_call_to_the_judge_is_in_the_log(machine: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mklang.judge")
    assert main(["lint", "--llm", machine]) == 0
    lines = [json.loads(record.message) for record in caplog.records if record.name == "mklang.judge"]
    assert len(lines) > 10
    assert {line["mapping"] for line in lines} == {"noul_first_ge"}


@pytest.mark.rule("S5", "S11")
def test_without_the_flag_no_model_is_asked(
    machine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(**_: Any) -> None:
        raise AssertionError("a model was asked for")

    monkeypatch.setattr(llm_lint_cli, "choose_models", nobody)
    assert main(["lint", machine]) == 0
    assert main(["check", machine]) == 0


CONFIG = """
active: near
providers:
  near:
    protocol: openai_compat
    base_url: http://127.0.0.1:9/v1
    tiers: { fast: small, balanced: small, reasoning: small }
"""
PRICES = "    prices: { small: { input: 1, output: 2 } }\n"


@pytest.mark.rule("S11")
@pytest.mark.parametrize(("prices", "told"), [(PRICES, "($0.0"), ("", "(at a price that is not known)")])
def test_an_estimate_says_calls_tokens_and_money_and_asks_nobody(
    machine: str, prices: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "near.yaml"
    config.write_text(CONFIG + prices)
    assert main(["lint", "--llm-estimate", "--config", str(config), machine]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("at most 5 calls to write outputs, 15 to the judge and 12 for controls, some ")
    assert told in line
    assert main(["lint", "--llm-estimate", "--config", str(config), "--format", "json", machine]) == 0
    most = json.loads(capsys.readouterr().out)["llm_report"]["estimate"]
    assert (most["usd"] is None) == (not prices)
    assert prices == "" or most["tokens"] < most["usd"] * 1e6 < 2 * most["tokens"]


@pytest.mark.rule("S9")
def test_static_findings_are_printed_when_there_is_no_model(
    machine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(**_: Any) -> None:
        raise ConfigError("there is no model to answer")

    monkeypatch.setattr(llm_lint_cli, "choose_models", nobody)
    Path("bad.mkl").write_text(DOCUMENT.replace("to: END", "to: nowhere", 1), "utf-8")
    assert main(["lint", "--llm", machine, "bad.mkl"]) == 1
    told = capsys.readouterr()
    assert "target-unknown" in told.out
    assert "nothing was measured: there is no model to answer" in told.err


@pytest.mark.usefixtures("planted")
def test_reports_in_every_form_and_what_changed_since(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["r.html", "r.json", "r.sarif", "r.txt"]
    asked = [part for name in files for part in ("--llm-report", name)]
    assert main(["lint", "--llm", *asked, machine]) == 0
    page = Path("r.html").read_text("utf-8")
    assert "gate 1 is shadowed" in page
    assert "<script" not in page
    assert json.loads(Path("r.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert "shadowed: state look" in Path("r.txt").read_text("utf-8")
    assert main(["lint", "--llm", "--baseline", "r.json", machine]) == 0
    assert "since the baseline: 0 new, 0 gone, 2 still" in capsys.readouterr().out


@pytest.mark.usefixtures("planted")
def test_the_second_run_pays_nothing_unless_it_measures_afresh(
    machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def calls(*flags: str) -> dict[str, int]:
        assert main(["lint", "--llm", "--format", "json", *flags, machine]) == 0
        found = json.loads(capsys.readouterr().out)["llm_report"]["calls"]
        assert isinstance(found, dict)
        return found

    first, second, afresh = calls(), calls(), calls("--llm-cache", "off")
    assert (second["produce"], second["judge"]) == (0, 0)
    assert second["cached"] == first["produce"] + first["judge"]
    assert afresh == first


def test_a_report_of_another_kind_is_refused_before_anything_is_asked(machine: str) -> None:
    assert main(["lint", "--llm", "--llm-report", "r.pdf", machine]) == 2
