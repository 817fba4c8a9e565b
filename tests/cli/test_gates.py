"""``mklang gates`` shows which gate would fire on a text, and what each gate was found to be."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.engine.options import OnUncertain
from mklang.engine.requests import Judge, Read, Usage, Verdict
from mklang.errors import ProviderFailed
from mklang.host.judge_config import Manner
from mklang.host.models import Models
from mklang.lang.models import Tier
from mklang.llm.local import embedded_available

pytestmark = pytest.mark.rule("S20", "L57")
TRIAGE = """\
machine: triage
entry: sort
budget: 5
context: { amount: 0 }
states:
  sort:
    structure: One line.
    prompt: Sort it.
    output: line
    gates:
      - { when: it is cheap, hook: amount_le_100, then: ok, to: END }
      - { when: it is a refund, then: ok, to: END }
      - { when: it is angry, escalate: true, to: calm }
      - { when: otherwise, repair: 1, to: sort }
  calm:
    structure: One line.
    prompt: Calm down.
    output: calmed
    gates: [{ when: otherwise, then: ok, to: END }]
  poll:
    structure: One line.
    prompt: Vote.
    output: votes
    sample: 2
    gates: [{ when: they agree, then: ok, to: END }]
"""
Judging = Callable[[Judge], Verdict]
Use = Callable[..., "list[Judge]"]


def noul(*chances: float, **more: Any) -> Judging:
    def judge(request: Judge) -> Verdict:
        told: dict[str, Any] = {"probabilities": chances[: len(request.conditions)], "threshold": 0.5, **more}
        return Verdict(
            index=None, method="noul_first_ge", mapping="noul_first_ge", model="jev-1", provider="jev",
            usage=Usage(20, 2), fence_applied=True, **told,
        )  # fmt: skip

    return judge


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Use:
    """Lets a judge answer; the list is what it was asked."""
    monkeypatch.chdir(tmp_path)
    Path("triage.mkl").write_text(TRIAGE, "utf-8")

    def answer(judging: Judging, *, whole: bool = True, doubt: OnUncertain = OnUncertain.FLAG) -> list[Judge]:
        asked: list[Judge] = []

        class Fake:
            async def judge(self, request: Judge) -> Verdict:
                asked.append(request)
                return judging(request)

            async def aclose(self) -> None:
                """Nothing to let go of."""

        models = Models(
            tiers={},
            judge=Fake(),
            notice="a fake judges",
            whole_decisions=frozenset(Tier) if whole else frozenset(),
            on_uncertain=doubt,
        )
        monkeypatch.setattr("mklang.host.session.choose_models", lambda **_: models)
        return asked

    return answer


def gates(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """Exit code, the lines on stdout, and stderr."""
    code = main(["gates", "triage.mkl", *arguments])
    captured = capsys.readouterr()
    return code, captured.out.splitlines(), captured.err


def test_probabilities_thresholds_and_the_gate_that_fires_are_a_table(
    use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(noul(0.2, 0.8, none_probability=0.1))
    code, lines, err = gates("sort", "--text", "So angry!", "--set", "amount=500", capsys=capsys)
    assert code == 0
    assert lines == [
        "gate 2 fires (escalate -> calm)",
        "",
        "gate  fires  kind       told     threshold  condition",
        "0            hook       false               amount_le_100: it is cheap",
        "1            prose      p 0.200  0.5        it is a refund",
        "2     <-     prose      p 0.800  0.5        it is angry",
        "3            otherwise                      otherwise",
        "",
        "gates 1 to 2 judged by jev-1 (noul_first_ge, jev), none p 0.100; 22 tokens",
        "the decision rests on data from outside",
    ]
    assert err.endswith("# triage · a fake judges\n")


def test_a_pick_is_told_as_one(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(lambda _: Verdict(index=0, model="small"), whole=False)
    _, lines, _ = gates("sort", "--text", "x", "--set", "amount=500", capsys=capsys)
    assert "1     <-     prose      picked" in lines[4]
    assert "2            prose      not picked" in lines[5]


def test_a_hook_that_fires_leaves_the_rest_unasked(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    asked = use(noul(0.9, 0.9))
    code, lines, _ = gates("sort", "--text", "x", capsys=capsys)
    assert (code, asked) == (0, [])
    assert lines[0] == "gate 0 fires (ok -> END)"
    assert [line.split()[:5] for line in lines[3:6]] == [
        ["0", "<-", "hook", "true", "amount_le_100:"],
        ["1", "prose", "not", "asked", "it"],
        ["2", "prose", "not", "asked", "it"],
    ]


def test_several_times_are_counted(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    judges = iter([noul(0.9, 0.1), noul(0.4, 0.1), noul(0.8, 0.1)])

    def in_turn(request: Judge) -> Verdict:
        return next(judges)(request)

    use(in_turn)
    code, lines, _ = gates("sort", "--text", "x", "--set", "amount=500", "--repeat", "3", capsys=capsys)
    assert code == 0
    assert lines[0] == "gate 1 fires (ok -> END)  2 of 3 times"
    assert lines[1] == "gate 3 fires (repair -> sort)  1 of 3 times"
    assert "1     2/3    prose      p 0.700 (0.400-0.900)  0.5" in lines[5]
    assert lines[7].split() == ["3", "1/3", "otherwise", "otherwise"]


def test_as_json_everything_is_there(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(noul(0.2, 0.8, band=0.35))
    code, lines, _ = gates("sort", "--text", "x", "--set", "amount=500", "--format", "json", capsys=capsys)
    told = json.loads("\n".join(lines))
    assert (code, told["command"], told["ok"]) == (0, "gates", True)
    assert told["items"][2] == {
        "gate": 2, "when": "it is angry", "kind": "prose", "to": "calm", "asked": 1, "held": 1, "fires": 1,
        "probabilities": [0.8], "threshold": 0.5,
    }  # fmt: skip
    assert told["items"][0]["hook"] == "amount_le_100"
    (decision,) = told["summary"]["decisions"]
    assert (decision["gate"], decision["to"], decision["via"]) == (2, "calm", "llm")
    (judgement,) = decision["judgements"]
    assert (judgement["uncertain"], judgement["fence_applied"], judgement["provider"]) == (True, True, "jev")


def test_an_unread_verdict_shows_what_was_said(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(lambda _: Verdict(index=None, read=Read.UNREAD, raw="I think\x1b[31m 2", model="small"), whole=False)
    code, lines, _ = gates("sort", "--text", "x", "--set", "amount=500", capsys=capsys)
    assert code == 0
    assert lines[0] == "gate 3 fires (repair -> sort)"
    assert any("the verdict was not read: I think\\x1b[31m 2" in line for line in lines)


def test_where_a_run_would_halt_the_exit_code_says_so(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(noul(0.1))
    code, lines, _ = gates("poll", "--text", "a", "--text", "b", capsys=capsys)
    assert (code, lines[0]) == (1, "the run halts: no-gate-matched")

    def fail(_: Judge) -> Verdict:
        raise ProviderFailed("nobody there")

    use(fail)
    code, lines, _ = gates("poll", "--text", "a", capsys=capsys)
    assert (code, lines[0]) == (1, "the run halts: provider-error: nobody there")


def test_a_doubt_that_a_person_settles_and_a_contradiction_are_said(
    use: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    use(noul(0.55, 0.1, band=0.1, none_probability=0.7), doubt=OnUncertain.ASK)
    code, lines, _ = gates("sort", "--text", "x", "--set", "amount=500", capsys=capsys)
    assert (code, lines[0]) == (0, "a person is asked which gate fires: the judge is in doubt")
    assert "the judge says both that a condition is true and that none is" in lines


def test_the_text_may_be_a_file_stdin_or_begin_with_an_at_sign(
    use: Use, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = use(noul(0.9))
    Path("said.txt").write_text("from a file", "utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"from stdin"), encoding="utf-8"))
    for told in ("@said.txt", "@-", "@@home"):
        assert gates("poll", "--text", told, capsys=capsys)[0] == 0
    assert [one.output for one in asked] == ["1. from a file", "1. from stdin", "1. @home"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["srot", "--text", "x"], "no state 'srot'; did you mean 'sort'?"),
        (["sort", "--text", "x", "--text", "y"], "produces one text, not 2"),
        (["sort"], "Missing option '--text'"),
        (["sort", "--text", "@missing.txt"], "cannot be read: No such file"),
        (["sort", "--text", "x", "--repeat", "0"], "0 is not in the range"),
        (["sort", "--text", "x", "--judge", "dice"], "is not one of"),
    ],
)
def test_what_cannot_be_decided_is_wrong_usage(
    use: Use, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    use(noul(0.9))
    code, lines, err = gates(*arguments, capsys=capsys)
    assert (code, lines) == (2, [])
    assert said in err.replace("\n", " ")


def test_a_machine_with_mistakes_is_refused_with_all_of_them(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    use(noul(0.9))
    Path("triage.mkl").write_text(TRIAGE.replace("to: calm", "to: clam"), "utf-8")
    code, _, err = gates("sort", "--text", "x", capsys=capsys)
    assert code == 2
    assert "target-unknown" in err


def test_the_manner_of_judging_is_passed_on(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    use(noul(0.9))
    seen: list[Any] = []

    def choose(**asked: Any) -> Models:
        seen.append(asked["judge"])
        raise SystemExit

    monkeypatch.setattr("mklang.host.session.choose_models", choose)
    for command in (["gates", "triage.mkl", "sort", "--text", "x"], ["run", "triage.mkl"]):
        for flag in ([], ["--judge", "noul"], ["--judge", "choice"]):
            with pytest.raises(SystemExit):
                main([*command, *flag])
    assert seen == [None, Manner.NOUL, Manner.CHOICE] * 2


@pytest.mark.rule("S29")
def test_every_call_to_the_judge_is_in_the_log(
    use: Use, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    use(noul(0.2, 0.8))
    with caplog.at_level("INFO", "mklang.judge"):
        gates("sort", "--text", "x", "--set", "amount=500", "--repeat", "2", capsys=capsys)
    assert [record.__dict__["judge"]["noul_probs"] for record in caplog.records] == [[0.2, 0.8]] * 2
    assert [record.__dict__["judge"]["chosen_index"] for record in caplog.records] == [None] * 2


@pytest.mark.model
@pytest.mark.skipif(not embedded_available(), reason="needs the extra 'local'")
@pytest.mark.parametrize("manner", ["choice", "noul"])
def test_for_real_on_the_embedded_model(
    manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_CONFIG", "")
    monkeypatch.setenv("MKLANG_CONFIG_DIR", str(tmp_path))
    Path("triage.mkl").write_text(TRIAGE, "utf-8")
    arguments = ["sort", "--text", "My money back!", "--set", "amount=500", "--judge", manner, "--format", "json"]
    code, lines, _ = gates(*arguments, capsys=capsys)
    told = json.loads("\n".join(lines))
    assert code == 0
    (judgement,) = told["summary"]["decisions"][0]["judgements"]
    assert judgement["mapping"] == ("choice" if manner == "choice" else "noul_first_ge")
    assert judgement["fence_applied"] is True
    if manner == "noul":
        assert all(0.0 <= value <= 1.0 for value in judgement["probabilities"])
