"""``mklang run`` as a person or a script calls it (L64, L107-L112), on models that say what the test says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.engine.requests import Judge, Produce, Produced, Usage, Verdict
from mklang.errors import ProviderFailed
from mklang.host.models import Models
from mklang.lang.models import Tier
from mklang.llm.base import NO_PARAMS, Exchange, Params, TierModel

ECHO = """\
machine: echo
entry: say
budget: 5
context: { topic: tea, today: "" }
states:
  say:
    structure: One line.
    prompt: "About {{topic}} on {{today}}"
    output: line
    gates:
      - { when: the line is friendly, then: ok, to: END }
      - { when: otherwise, repair: 1, to: say }
      - { when: otherwise, fail: true }
"""


class Fake:
    """A model and a judge in one: ``text`` may be an exception to raise, ``verdicts`` are used up in order."""

    def __init__(self, text: str | Exception = "A cup of tea.", verdicts: Iterable[int | None] = ()) -> None:
        self.text = text
        self.verdicts = iter(verdicts)
        self.prompts: list[str] = []
        self.closed = 0

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        self.prompts.append(request.user)
        if isinstance(self.text, Exception):
            raise self.text
        return Produced(text=self.text, usage=Usage(10, 5), model=model)

    def most(self, _: object) -> Usage:
        return Usage()

    async def reply(self, exchange: Exchange) -> Produced:
        raise NotImplementedError(exchange.key)

    async def judge(self, request: Judge) -> Verdict:
        return Verdict(index=next(self.verdicts, 0), usage=Usage(20, 1), model="fake")

    async def aclose(self) -> None:
        self.closed += 1


Answering = Callable[..., Fake]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Lets a fake answer the runs that follow."""

    def answer(text: str | Exception = "A cup of tea.", *verdicts: int | None) -> Fake:
        fake = Fake(text, verdicts)
        tiers = {tier: TierModel(backend=fake, model="fake") for tier in Tier}
        models = Models(tiers=tiers, judge=fake, notice="a fake answers")
        monkeypatch.setattr("mklang.host.session.choose_models", lambda **_: models)
        return fake

    return answer


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("echo.mkl").write_text(ECHO, "utf-8")


def run_json(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """Exit code, the JSON on stdout, and stderr."""
    code = main(["run", *arguments])
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


@pytest.mark.rule("L72", "L108", "L111")
def test_into_a_pipe_goes_the_whole_run_as_json(answering: Answering, capsys: pytest.CaptureFixture[str]) -> None:
    fake = answering()
    code, run, err = run_json("echo.mkl", capsys=capsys)
    assert code == 0
    assert list(run)[:6] == ["status", "error", "result", "usage", "limits", "trace"]
    assert (run["status"], run["result"]) == ("done", "A cup of tea.")
    assert run["usage"] == {"input_tokens": 30, "output_tokens": 6}
    assert err == "# echo · a fake answers\n"
    assert fake.closed >= 1


@pytest.mark.rule("L108", "L110")
def test_as_text_stdout_holds_the_result_and_stderr_the_story(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    answering("A cup of tea.", None, 0)
    assert main(["run", "echo.mkl", "--format", "text"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "A cup of tea.\n"
    assert "\nroute: say -> say -> END\n" in captured.err
    assert "  say -> say  repair, otherwise (the judge found no condition true)\n" in captured.err
    assert "  say -> END  judge: the line is friendly\n" in captured.err


def test_quiet_leaves_the_result_alone(answering: Answering, capsys: pytest.CaptureFixture[str]) -> None:
    answering()
    assert main(["run", "echo.mkl", "--format", "text", "--quiet"]) == 0
    assert capsys.readouterr() == ("A cup of tea.\n", "")


@pytest.mark.rule("L107", "W54")
@pytest.mark.parametrize(
    ("text", "arguments", "error", "told"),
    [
        (ProviderFailed("the line is dead"), [], "provider-error: the line is dead", "The model's provider failed."),
        ("x", ["--max-steps", "1"], "budget-exhausted", "--max-steps"),
        ("x", ["--max-tokens", "36"], "cost-exhausted", "--max-tokens"),
        ("x", [], "gate-fail", "A fail gate fired."),
    ],
)
def test_a_halt_is_exit_1_with_its_reason_explained(
    text: str | Exception,
    arguments: list[str],
    error: str,
    told: str,
    answering: Answering,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answering(text, None, None)
    code, run, _ = run_json("echo.mkl", *arguments, capsys=capsys)
    assert (code, run["status"], run["error"]) == (1, "halt", error)
    answering(text, None, None)
    assert main(["run", "echo.mkl", "--format", "text", "--quiet", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert error in captured.err


@pytest.mark.rule("L107", "L109", "W60")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nowhere.mkl", "file-missing"),
        (".", "file-is-directory"),
        ("bad.mkl", "unknown-key"),
        ("lost.mkl", "entry-unknown"),
    ],
)
def test_a_machine_that_cannot_run_costs_nothing_and_exits_2(
    path: str, code: str, answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = answering()
    Path("bad.mkl").write_text(ECHO.replace("budget", "budgt"), "utf-8")
    Path("lost.mkl").write_text(ECHO.replace("entry: say", "entry: sya"), "utf-8")
    exit_code, wire, err = run_json(path, capsys=capsys)
    assert exit_code == 2
    assert (wire["command"], wire["ok"]) == ("run", False)
    assert code in [found["code"] for found in wire["diagnostics"]]
    assert code in err
    assert fake.prompts == []
    assert main(["run", path, "--format", "text"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.rule("W60")
def test_a_mistyped_file_gets_the_nearest_as_a_hint(answering: Answering, capsys: pytest.CaptureFixture[str]) -> None:
    answering()
    for path, hint in (
        ("eco.mkl", "did you mean 'echo.mkl'?"),
        ("std_cott", "did you mean 'std_cot'?"),
        ("nothing", "by a name that 'mklang machines' lists"),
    ):
        code, wire, _ = run_json(path, capsys=capsys)
        assert (code, wire["diagnostics"][0]["code"]) == (2, "file-missing")
        assert hint in wire["diagnostics"][0]["hint"]


@pytest.mark.rule("L112")
def test_inputs_come_from_a_file_and_flags_and_are_fenced(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = answering()
    Path("in.yaml").write_text("topic: coffee\ntoday: Monday\n", "utf-8")
    assert main(["run", "echo.mkl", "--input", "in.yaml", "--set", "topic=milk"]) == 0
    (prompt,) = fake.prompts
    assert "\nmilk\n</data-" in prompt and "\nMonday\n</data-" in prompt and "coffee" not in prompt


@pytest.mark.rule("L64", "W6")
def test_the_clock_fills_what_the_machine_declares_and_is_trusted(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = answering()
    assert main(["run", "echo.mkl"]) == 0
    assert fake.prompts[0].startswith("About tea on 2")
    assert "<data-" not in fake.prompts[0]


def test_a_mistyped_input_is_a_warning_on_stderr_and_passed(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    answering()
    code, _, err = run_json("echo.mkl", "--set", "topik=milk", "--quiet", capsys=capsys)
    assert code == 0
    assert err.startswith("# warning: echo.mkl:4:1: unknown-input: ")
    assert "'topic'" in err


@pytest.mark.rule("L107")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--set", "topic"],
        ["--set", "=x"],
        ["--set", "topic=NaN"],
        ["--input", "in.txt"],
        ["--input", "missing.json"],
        ["--max-steps", "0"],
        ["--max-tokens", "many"],
        ["--on-truncate", "maybe"],
        ["--nonsense"],
    ],
)
def test_bad_input_exits_2_as_text_before_anything_is_asked(
    arguments: list[str], answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = answering()
    assert main(["run", "echo.mkl", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err
    assert fake.prompts == []


@pytest.mark.rule("L15", "W11")
def test_missing_tools_and_hooks_of_everything_it_calls_are_warned_about(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    answering()
    Path("root.mkl").write_text(
        ECHO.replace("machine: echo", "machine: root").replace(
            '    structure: One line.\n    prompt: "About {{topic}} on {{today}}"\n', "    call: helper\n"
        ),
        "utf-8",
    )
    Path("helper.mkl").write_text(
        ECHO.replace("machine: echo", "machine: helper")
        .replace('    structure: One line.\n    prompt: "About {{topic}} on {{today}}"\n', "    tool: calk\n")
        .replace("when: the line is friendly,", "when: small, hook: amount_le_10,"),
        "utf-8",
    )
    code, run, err = run_json("root.mkl", capsys=capsys)
    assert "# warning: helper.mkl:7:11: tool-missing: states.say: " in err and "'calc'" in err
    assert "# warning: helper.mkl:10:" in err and "'amount_le_100'" in err
    assert (code, run["status"], run["at"]) == (1, "halt", "say")


@pytest.mark.rule("W12")
def test_model_output_reaches_a_pipe_as_it_is_and_a_report_as_text(
    answering: Answering, capsys: pytest.CaptureFixture[str]
) -> None:
    answering("[/foo] \x1b[31mred\u202e")
    assert main(["run", "echo.mkl", "--format", "text"]) == 0
    assert capsys.readouterr().out == "[/foo] \x1b[31mred\u202e\n"


@pytest.mark.rule("W13")
def test_half_a_character_costs_no_result(answering: Answering, capsys: pytest.CaptureFixture[str]) -> None:
    Path("json.mkl").write_text(ECHO.replace("output: line", "output: line\n    parse: json"), "utf-8")
    answering('"\\ud800 é"')
    code, run, _ = run_json("json.mkl", capsys=capsys)
    assert (code, run["result"]) == (0, "\ud800 é")
    answering('"\\ud800 é"')
    assert main(["run", "json.mkl", "--format", "text"]) == 0
    assert capsys.readouterr().out == "\\ud800 é\n"


def test_an_empty_result_is_said_to_be_empty(answering: Answering, capsys: pytest.CaptureFixture[str]) -> None:
    answering()
    Path("empty.mkl").write_text(f"result: extra\n{ECHO}".replace("topic: tea", 'topic: tea, extra: ""'), "utf-8")
    assert main(["run", "empty.mkl", "--format", "text"]) == 0
    assert "the result is empty" in capsys.readouterr().err


def test_anything_but_text_is_printed_as_json(answering: Answering, capsys: pytest.CaptureFixture[str]) -> None:
    Path("json.mkl").write_text(ECHO.replace("output: line", "output: line\n    parse: list"), "utf-8")
    answering('["a", {"b": 1.0}]')
    assert main(["run", "json.mkl", "--format", "text", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out) == ["a", {"b": 1.0}]


TERMINAL = """
import sys
from mklang.lang.models import Tier
from mklang.host import session
from mklang.host.models import Models
from mklang.llm.base import TierModel
from tests.cli.test_run import Fake
fake = Fake("[red]\\x1b[2J[/foo] it goes\\u202e on")
models = Models(tiers={tier: TierModel(backend=fake, model="m") for tier in Tier}, judge=fake, notice="fake")
session.choose_models = lambda **_: models
from mklang.cli.main import main
sys.exit(main(["run", "echo.mkl", *sys.argv[1:]]))
"""


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What a run writes when both streams are a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "80", **environment}
    with subprocess.Popen(
        [sys.executable, "-c", TERMINAL, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    ) as process:
        os.close(theirs)
        written = bytearray()
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side has closed
                break
            if not piece:
                break
            written += piece
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return written.decode("utf-8").replace("\r\n", "\n")


@pytest.mark.rule("W12", "L108", "L110")
def test_on_a_terminal_the_run_is_told_and_model_text_is_harmless() -> None:
    written = on_a_terminal()
    assert "\x1b[2J" not in written and "\u202e" not in written
    assert "\n[red]\\x1b[2J[/foo] it goes\\u202e on\n" in written
    assert "→ END" in written
    assert "route: say -> END" in written
    assert "\x1b[32m" in written


@pytest.mark.rule("L106")
def test_without_colour_a_terminal_gets_none() -> None:
    for written in (on_a_terminal(NO_COLOR="1"), on_a_terminal("--color", "never")):
        assert "route: say -> END" in written
        assert not [code for code in ("\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[36m") if code in written]


def test_json_on_a_terminal_is_json_that_moves_no_cursor() -> None:
    written = on_a_terminal("--format", "json", "--quiet")
    assert json.loads(written)["result"] == "[red]\x1b[2J[/foo] it goes\u202e on"
    assert "\\u202e" in written and "\u202e" not in written
