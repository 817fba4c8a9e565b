"""A decision in doubt waits for a person, who names the gate; the run goes on with what was judged before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.engine.options import OnUncertain
from mklang.engine.requests import Judge, Produce, Produced, Usage, Verdict
from mklang.host.models import Models
from mklang.lang.models import Tier
from mklang.llm.base import NO_PARAMS, Exchange, Params, TierModel

pytestmark = pytest.mark.rule("S28", "L81")
MACHINE = """\
machine: doubt
entry: say
budget: 5
states:
  say:
    structure: One line.
    prompt: Say it.
    output: line
    gates:
      - { when: it is kind, then: ok, to: END }
      - { when: it is rude, then: ok, to: again }
      - { when: otherwise, fail: true }
  again:
    structure: One line.
    prompt: Say it again.
    output: line
    gates: [{ when: otherwise, then: ok, to: END }]
"""


class Fake:
    """Writes, and judges with probabilities."""

    def __init__(self) -> None:
        self.judged = 0

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        return Produced(text=f"from {request.state}", usage=Usage(3, 2), model=model)

    def most(self, _: object) -> Usage:
        return Usage()

    async def reply(self, exchange: Exchange) -> Produced:
        raise NotImplementedError(exchange.key)

    async def judge(self, request: Judge) -> Verdict:
        self.judged += 1
        told: dict[str, Any] = {"probabilities": (0.52, 0.9), "threshold": 0.5, "band": 0.1, "provider": "jev"}
        return Verdict(index=0, method="noul_first_ge", mapping="noul_first_ge", model="jev-1", **told)

    async def aclose(self) -> None:
        """Nothing to let go of."""


Use = Callable[..., Fake]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Use:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("doubt.mkl").write_text(MACHINE, "utf-8")

    def answer(*, whole: bool = True) -> Fake:
        fake = Fake()
        models = Models(
            tiers={tier: TierModel(backend=fake, model="fake") for tier in Tier},
            judge=fake,
            notice="a fake judges",
            whole_decisions=frozenset(Tier) if whole else frozenset(),
            on_uncertain=OnUncertain.ASK,
        )
        monkeypatch.setattr("mklang.host.session.choose_models", lambda **_: models)
        return fake

    return answer


def test_the_person_sees_the_probabilities_and_names_the_gate(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    fake = use()
    assert main(["run", "doubt.mkl", "--checkpoint", "kept.jsonl"]) == 3
    waiting = json.loads(capsys.readouterr().out)
    assert (waiting["status"], waiting["error"], waiting["at"]) == ("suspended", "uncertain", "say")
    (question,) = waiting["asks"]
    assert "0: it is kind (p = 0.520)\n1: it is rude (p = 0.900)\n2: otherwise" in question["about"]
    assert question["choices"] == ["0", "1", "2"]
    assert main(["resume", "kept.jsonl", "--set", "gate=1"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["status"], done["result"]) == ("done", "from again")
    first = done["trace"][0]
    assert (first["gate"], first["gate_via"], first["noul_probs"]) == ("it is rude", "human", [0.52, 0.9])
    assert first["judgements"][0]["uncertain"] is True
    assert fake.judged == 1


def test_on_a_terminal_the_gates_are_listed_with_their_probabilities(
    use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use()
    assert main(["run", "doubt.mkl", "--checkpoint", "kept.jsonl", "--format", "text"]) == 3
    told = capsys.readouterr().err
    assert "    0: it is kind (p = 0.520)\n    1: it is rude (p = 0.900)\n    2: otherwise\n" in told
    assert main(["resume", "kept.jsonl", "--set", "gate=1", "--format", "text"]) == 0
    assert "a person (the judge was in doubt): it is rude" in capsys.readouterr().err


def test_a_run_goes_on_with_the_kind_of_judge_it_began_with(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use()
    assert main(["run", "doubt.mkl", "--checkpoint", "kept.jsonl"]) == 3
    use(whole=False)
    capsys.readouterr()
    assert main(["resume", "kept.jsonl", "--set", "gate=1"]) == 2
    told = capsys.readouterr()
    assert "began with probabilities judging fast, balanced, reasoning" in told.err + told.out
    assert "--judge noul" in told.err + told.out
