"""What the guide to judges shows is read and run as it shows it (house style 24), and its tables name what there is."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.engine.requests import Judge, Usage, Verdict
from mklang.host.config import read_config
from mklang.host.judge_config import _JUDGE, Manner, NoulProvider
from mklang.host.judging import BASE_URL_VARIABLE, THRESHOLD_VARIABLE
from mklang.host.models import Models
from mklang.lang.models import Tier
from mklang.llm.noul import DEFAULT_THRESHOLD
from mklang.oracles.judge_log import _asked, told
from tests.cli.test_guides import blocks, commands
from tests.llm.asking import decide

pytestmark = pytest.mark.rule("S32", "L104")
GUIDE = "jev-noul-judge.md"
ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/guides" / GUIDE).read_text("utf-8")


@pytest.mark.parametrize("block", blocks(GUIDE, "yaml"))
def test_every_configuration_is_read_without_a_word(block: str, tmp_path: Path) -> None:
    provider = "tiers: { fast: s, balanced: m, reasoning: l }\n" + block
    path = tmp_path / "runtime.yaml"
    path.write_text(f"active: w\nproviders:\n  w:\n{textwrap.indent(provider, '    ')}")
    config = read_config(str(path))
    assert config.warnings == ()
    assert config.provider().judges


@pytest.mark.parametrize("command", commands(GUIDE, "mklang"))
def test_the_commands_run(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mklang.engine.requests import Produce, Produced
    from mklang.llm.base import NO_PARAMS, Exchange, Params, TierModel

    seen: list[Any] = []

    class Fake:
        async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
            return Produced(text="a summary")

        def most(self, _: object) -> Usage:
            return Usage()

        async def reply(self, exchange: Exchange) -> Produced:
            raise NotImplementedError(exchange.key)

        async def judge(self, request: Judge) -> Verdict:
            chances = tuple(0.1 for _ in request.conditions)
            return Verdict(index=None, mapping="noul_first_ge", threshold=0.5, probabilities=chances, model="m")

        async def aclose(self) -> None:
            """Nothing to let go of."""

    def choose(**asked: Any) -> Models:
        seen.append(asked["judge"])
        fake = Fake()
        tiers = {tier: TierModel(backend=fake, model="m") for tier in Tier}
        return Models(tiers=tiers, judge=fake, notice="a fake", whole_decisions=frozenset(Tier))

    monkeypatch.setattr("mklang.host.session.choose_models", choose)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path))
    monkeypatch.chdir(ROOT)
    assert main(command) == 0
    assert seen == [Manner.NOUL]


def test_every_key_provider_variable_and_log_field_is_in_the_guide() -> None:
    rows = {row.split("|")[1].strip() for row in TEXT.splitlines() if row.startswith("| `")}
    keys = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert set(_JUDGE) <= keys
    for provider in NoulProvider:
        assert f"| `{provider.value}` |" in TEXT
    for variable in (THRESHOLD_VARIABLE, BASE_URL_VARIABLE, "TYPESAFE_API_KEY", "OPENAI_API_KEY"):
        assert variable in TEXT
    fields = told(Verdict(index=0, model="m")).keys() | _asked(decide()).keys()
    assert fields - {"key", "state", "tier", "conditions"} <= keys
    assert f"| {DEFAULT_THRESHOLD} |" in TEXT


def test_the_status_is_proposed_until_the_bars_are_met_with_live_evidence() -> None:
    assert "*Status: **proposed**." in TEXT
    for bar in ("`priority_shadow`", "at least 0.95", "no cut-over"):
        assert bar in TEXT
