"""The program on an endpoint: what it shows while a model writes, what it says a run cost, what it keeps to itself."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mklang.llm.local import LocalModel, embedded_available
from tests.llm.stub_server import Asked, Scripted, StubServer, chunk, completion, streamed

SECRET = "sk-sekret-4711-geheim"
MACHINE = """\
machine: letter
entry: draft
budget: 8
result: text
context: { topic: rain }
states:
  draft:
    tier: fast
    structure: A line.
    prompt: "Write about {{topic}}."
    output: text
    gates:
      - { when: the line is about the topic, then: ok, to: mend }
      - { when: otherwise, fail: true }
  mend:
    tier: reasoning
    structure: A line.
    prompt: "Mend this: {{text}}"
    output: text
    gates: [{ when: otherwise, then: ok, to: END }]
"""
PRICES = "prices: { s: { input: 1, output: 2 }, l: { input: 10, output: 20 } }"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "letter.mkl").write_text(MACHINE)
    return tmp_path


def configure(folder: Path, url: str, *lines: str, tiers: str = "{ fast: s, balanced: s, reasoning: l }") -> None:
    body = "".join(
        f"    {line}\n" for line in (f"tiers: {tiers}", "protocol: openai_compat", f"base_url: {url}", *lines)
    )
    (folder / "runtime.yaml").write_text(f"active: work\nproviders:\n  work:\n{body}")


def environment(folder: Path, **variables: str) -> dict[str, str]:
    own = {
        "MKLANG_CONFIG": str(folder / "runtime.yaml"),
        "MKLANG_STATE_DIR": str(folder / "state"),
        "HOME": str(folder),
    }
    plain = {name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    return {**plain, "PYTHONPATH": os.pathsep.join(sys.path), **own, **variables}


def answer(asked: Asked) -> Scripted:
    """Whatever is asked: a verdict to a judge, a line to a writer."""
    judged = "CONDITIONS:" in asked.body["messages"][-1]["content"]
    return Scripted(completion('{"choice": 1}' if judged else "It rains."))


def program(
    folder: Path,
    *arguments: str,
    answers: Callable[[Asked], Scripted] = answer,
    lines: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
    **options: Any,
) -> tuple[int, str, str, list[Asked]]:
    """Exit code, stdout and stderr of the program, and what the endpoint was asked."""

    async def scenario() -> tuple[int, str, str, list[Asked]]:
        async with StubServer(answer=answers) as server:
            configure(folder, server.base_url, *lines, **options)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "mklang.cli.main", *arguments,
                cwd=folder, env=environment(folder, **(environ or {})),
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            out, err = await process.communicate()
            return process.returncode or 0, out.decode(), err.decode(), server.asked

    return asyncio.run(scenario())


def test_the_report_says_tokens_and_what_they_cost(folder: Path) -> None:
    code, out, err, _ = program(folder, "run", "letter.mkl", "--format", "text", lines=(PRICES,))
    assert (code, out) == (0, "It rains.\n")
    assert "30 tokens (21 in, 9 out), $0.000156," in err
    _, out, _, _ = program(folder, "run", "letter.mkl", lines=(PRICES,))
    told = json.loads(out)
    assert told["usage"] == {"input_tokens": 21, "output_tokens": 9, "usd": 0.000156}
    assert [step["usd"] for step in told["trace"]] == [0.000026, 0.00013]


def test_a_limit_on_money_stops_before_the_next_request(folder: Path) -> None:
    code, out, _, asked = program(folder, "run", "letter.mkl", "--max-cost", "0.05", lines=(PRICES,))
    told = json.loads(out)
    assert (code, told["error"], told["at"], len(asked)) == (1, "cost-exhausted", "mend", 2)
    assert told["limits"]["usd"] == {"used": 0.000026, "limit": 0.05, "remaining": 0.049974}
    said = r"the next request can cost \$0\.08\d+, and \$0\.049974 of \$0\.050000 is left"
    assert re.fullmatch(said, told["message"])
    assert program(folder, "run", "letter.mkl", "--max-cost", "0", lines=(PRICES,))[3] == []


@pytest.mark.parametrize("limit", [("--max-cost", "0.05"), ("--max-tokens", "4000")])
def test_a_run_that_came_to_its_limit_is_replayed_pinned_and_gone_on_with(folder: Path, limit: tuple[str, str]) -> None:
    small = "params: { fast: { max_tokens: 100 } }"
    _, out, _, asked = program(folder, "run", "letter.mkl", *limit, "--record", "r.jsonl", lines=(PRICES, small))
    first = json.loads(out)
    assert (first["error"], first["at"], len(asked)) == ("cost-exhausted", "mend", 2)
    _, out, _, asked = program(folder, "run", "letter.mkl", "--replay", "r.jsonl", lines=(PRICES,))
    again = json.loads(out)
    assert (again["error"], again["at"], asked) == ("cost-exhausted", "mend", [])
    code, out, err, _ = program(folder, "test", "letter.mkl", "--from-journal", "r.jsonl", "--output", "r.test.yaml")
    assert code == 0, out + err
    assert program(folder, "test", "letter.mkl", "--script", "r.test.yaml")[0] == 0

    _, out, _, _ = program(folder, "run", "letter.mkl", *limit, "--checkpoint", "c.jsonl", lines=(PRICES, small))
    assert json.loads(out)["status"] == "suspended"
    higher = (limit[0], "1" if limit[0] == "--max-cost" else "9000")
    code, out, _, asked = program(folder, "resume", "c.jsonl", *higher, lines=(PRICES,))
    assert (code, json.loads(out)["status"], len(asked)) == (0, "done", 1)


def test_a_limit_on_money_with_a_price_nobody_knows_is_refused_before_the_run(folder: Path) -> None:
    code, out, _, asked = program(folder, "run", "letter.mkl", "--max-cost", "1")
    assert (code, asked) == (2, [])
    assert "nobody knows the price of s, l" in json.loads(out)["diagnostics"][0]["message"]
    only_one = "prices: { s: { input: 1, output: 2 } }"
    code, out, _, asked = program(folder, "run", "letter.mkl", "--max-cost", "1", lines=(only_one,))
    assert "price of l;" in json.loads(out)["diagnostics"][0]["message"]


def test_what_a_model_costs_that_no_state_uses_does_not_matter(folder: Path) -> None:
    tiers = "{ fast: s, balanced: nobody, reasoning: l }"
    assert program(folder, "run", "letter.mkl", "--max-cost", "1", lines=(PRICES,), tiers=tiers)[0] == 0


@pytest.mark.parametrize("amount", ["", "-1", "much", "1e3", "NaN", "1,5"])
def test_an_amount_that_is_none_is_refused(folder: Path, amount: str) -> None:
    code, _, err, _ = program(folder, "run", "letter.mkl", "--max-cost", amount)
    assert code == 2
    assert "is no amount of US dollars" in err


def test_another_model_answers_and_both_attempts_are_in_the_trace(folder: Path) -> None:
    def answers(asked: Asked) -> Scripted:
        return Scripted(completion(None, finish="content_filter")) if asked.body["model"] == "l" else answer(asked)

    rules = "fallback: { reasoning: [{ model: s, on: [filtered] }] }"
    code, out, _, _ = program(folder, "run", "letter.mkl", answers=answers, lines=(PRICES, rules))
    last = json.loads(out)["trace"][-1]
    assert (code, last["model"]) == (0, "s")
    (attempt,) = last["attempts"]
    assert (attempt["model"], attempt["cause"]) == ("l", "filtered")
    assert last["cost"] == {"input_tokens": 14, "output_tokens": 6}
    assert last["usd"] == pytest.approx(0.00013 + 0.000013)


# What nobody is shown


@pytest.mark.parametrize("way", ["variable", ".env"])
def test_a_key_that_an_endpoint_sends_back_stands_nowhere(folder: Path, way: str) -> None:
    def answers(asked: Asked) -> Scripted:
        assert asked.headers["authorization"] == f"Bearer {SECRET}"
        if asked.body["model"] == "l":
            return Scripted({"error": {"message": f"bad key {SECRET}", "type": SECRET}}, status=401)
        return answer(asked)

    environ = {"MKLANG_DEBUG": "1", "MKLANG_LOG_LEVEL": "debug", "OPENAI_LOG": "debug"}
    if way == "variable":
        environ["WORK_KEY"] = SECRET
    else:
        (folder / ".env").write_text(f"# keys\nexport WORK_KEY='{SECRET}'  # mine\n")
    for form in ("text", "json"):
        flags = ("run", "letter.mkl", "--events", f"events-{form}.jsonl", "--format", form)
        code, out, err, asked = program(
            folder, *flags, answers=answers, lines=("api_key_env: WORK_KEY",), environ=environ
        )
        assert (code, len(asked)) == (1, 3)
        assert "bad key [key]" in out + err
        assert SECRET not in out + err
    kept = [path for path in folder.rglob("*") if path.is_file() and path.name != ".env"]
    assert {path.suffix for path in kept} >= {".jsonl"}
    for path in kept:
        assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.rule("S27")
@pytest.mark.parametrize(
    "reply",
    [
        Scripted({"error": {"message": f"bad key {SECRET}"}}, status=401),
        Scripted({"answers": {"g0": {"type": SECRET, "noul": 0.9}}}),
        Scripted({"answers": {}, "model": SECRET}),
        Scripted(f"<p>{SECRET}</p>"),
    ],
)
def test_a_judges_key_that_comes_back_stands_nowhere(folder: Path, reply: Scripted) -> None:
    def answers(asked: Asked) -> Scripted:
        return reply if asked.path.endswith("/systemone") else answer(asked)

    async def scenario() -> tuple[int, list[Asked]]:
        async with StubServer(answer=answers) as server:
            judge = f"judge: {{ provider: jev, base_url: '{server.base_url}', api_key_env: JUDGE_KEY }}"
            configure(folder, server.base_url, judge)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "mklang.cli.main", "run", "letter.mkl", "--events", "events.jsonl",
                cwd=folder, env=environment(folder, JUDGE_KEY=SECRET),
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            for name, told in zip(("out.txt", "err.txt"), await process.communicate(), strict=True):
                (folder / name).write_bytes(told)
            return process.returncode or 0, server.asked

    code, asked = asyncio.run(scenario())
    (judged,) = (one for one in asked if one.path.endswith("/systemone"))
    assert (code, judged.headers["authorization"]) == (1, f"Bearer {SECRET}")
    assert [one.headers.get("authorization") for one in asked if one is not judged] == [None]
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in kept} >= {".jsonl", ".txt"}
    for path in kept:
        assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.rule("L98")
def test_a_key_is_looked_up_in_the_environment_then_here_then_with_the_user_and_never_beside_the_machine(
    folder: Path,
) -> None:
    def sent(**environ: str) -> str:
        _, _, _, asked = program(
            folder, "run", "machines/letter.mkl", lines=("api_key_env: WORK_KEY",),
            environ={"MKLANG_CONFIG_DIR": str(folder / "user"), **environ},
        )  # fmt: skip
        return asked[0].headers["authorization"].removeprefix("Bearer ") if asked else "nothing"

    for name in ("machines", "user"):
        (folder / name).mkdir()
    (folder / "machines" / "letter.mkl").write_text(MACHINE)
    (folder / "machines" / ".env").write_text("WORK_KEY=of-the-machine\n")
    assert sent() == "nothing"
    (folder / "user" / ".env").write_text("WORK_KEY=of-the-user\n")
    assert sent() == "of-the-user"
    (folder / ".env").write_text("OTHER=x\nWORK_KEY=of-here\nMKLANG_CONFIG=/nowhere\nHTTP_PROXY=http://127.0.0.1:9\n")
    assert sent() == "of-here"
    assert sent(WORK_KEY="of-the-environment") == "of-the-environment"


# While a model writes


def watched(folder: Path, *arguments: str, answers: Callable[[Asked], Scripted], lines: tuple[str, ...] = ()) -> str:
    """All that appears on a terminal while the program runs."""

    async def scenario() -> str:
        async with StubServer(answer=answers) as server:
            configure(folder, server.base_url, *lines)
            master, slave = pty.openpty()
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "mklang.cli.main", *arguments,
                cwd=folder, env=environment(folder, TERM="xterm", COLUMNS="100"),
                stdin=slave, stdout=slave, stderr=slave,
            )  # fmt: skip
            os.close(slave)
            shown = await asyncio.to_thread(_all_of, master)
            await process.wait()
            return shown

    return asyncio.run(scenario())


def _all_of(master: int) -> str:
    parts: list[bytes] = []
    try:
        while part := os.read(master, 65536):
            parts.append(part)
    except OSError:  # the other side is closed
        pass
    os.close(master)
    return b"".join(parts).decode("utf-8", "replace")


def test_a_terminal_shows_the_text_as_it_comes_and_a_pipe_is_not_streamed_to(folder: Path) -> None:
    def answers(asked: Asked) -> Scripted:
        if "stream" not in asked.body or "CONDITIONS:" in asked.body["messages"][-1]["content"]:
            return answer(asked)
        text = [streamed(chunk("Drops fall on the roof"), done=False), streamed(chunk(" of tin.", finish="stop"))]
        return Scripted(pieces=text, pause=0.4)

    shown = watched(folder, "run", "letter.mkl", "--format", "text", answers=answers)
    before = shown[: shown.index("mend ")]
    assert "Drops fall on the roof" in before
    assert "Drops fall on the roof of tin." in shown
    _, out, err, asked = program(folder, "run", "letter.mkl", "--format", "text", answers=answers)
    assert (out, [one for one in asked if "stream" in one.body]) == ("It rains.\n", [])
    assert "\r" not in err
    assert "\x1b" not in err


@pytest.mark.rule("L116", "W62")
def test_events_of_models_name_machine_state_and_key(folder: Path) -> None:
    (folder / "letter.mkl").write_text(MACHINE.replace("tier: reasoning", "tier: reasoning\n    reason: true"))

    def answers(asked: Asked) -> Scripted:
        if asked.body["model"] == "l" and not failed:
            failed.append(1)
            return Scripted(None, status=500)
        judged = "CONDITIONS:" in asked.body["messages"][-1]["content"]
        text = '{"choice": 1}' if judged else "It rains."
        return Scripted(pieces=[streamed(chunk(text[:3]), chunk(text[3:]), chunk(finish="stop"))])

    failed: list[int] = []
    program(folder, "run", "letter.mkl", "--events", "events.jsonl", answers=answers)
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    told = [line for line in lines if line["type"].startswith("llm-")]
    assert {(line["machine"], line["depth"]) for line in told} == {("letter", 0)}
    assert len({line["run_id"] for line in lines}) == 1
    first = [line for line in told if line["key"] == "1:draft/produce"]
    assert [line["type"] for line in first] == ["llm-start", "llm-delta", "llm-delta", "llm-done"]
    assert [line["delta"] for line in first if line["type"] == "llm-delta"] == ["It ", "rains."]
    assert {(line["state"], line["operation"]) for line in told} == {
        ("draft", "produce"), ("draft", "judge"), ("mend", "produce")
    }  # fmt: skip
    mend = [line for line in told if line["state"] == "mend"]
    (retry,) = [line for line in mend if line["type"] == "llm-retry"]
    assert (retry["attempt"], retry["status"], retry["cause"]) == (1, 500, "status")
    notes = [line for line in mend if line.get("delta_kind") == "reasoning"]
    assert notes
    assert {line["delta"] for line in notes} == {""}
    assert mend[-1]["type"] == "llm-done"
    assert (mend[-1]["chars"], mend[-1]["finish_reason"]) == (9, "stop")


@pytest.mark.rule("L117")
def test_interrupting_the_program_closes_the_connection_and_sends_nothing_more(folder: Path) -> None:
    async def scenario() -> tuple[float, int, int]:
        async with StubServer(answer=lambda _: Scripted(hold=asyncio.Event())) as server:
            configure(folder, server.base_url)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "mklang.cli.main", "run", "letter.mkl", "--format", "text",
                cwd=folder, env=environment(folder), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            await server.arrived()
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(server.closed_early.wait(), 10)
            took = time.monotonic() - begun
            await process.communicate()
            return took, len(server.asked), process.returncode or 0

    took, requests, code = asyncio.run(scenario())
    assert took < 5.0  # a second where the machine is idle; tests/llm/test_sending.py measures the adapter itself
    assert (requests, code) == (1, 130)


def test_a_rate_that_an_endpoint_asks_for_ends_the_run_when_there_is_no_time_for_it(folder: Path) -> None:
    def answers(_: Asked) -> Scripted:
        return Scripted(None, status=429, headers={"Retry-After": "30"})

    code, out, _, asked = program(folder, "run", "letter.mkl", "--timeout", "20s", answers=answers)
    told = json.loads(out)
    assert (code, told["error"], len(asked)) == (1, "time-exhausted", 1)
    assert re.search(r"a pause of 30 s is due and the run has \d+ s left", told["message"])


# On a real server


JUDGED = """\
machine: greeting
entry: greet
budget: 4
states:
  greet:
    tier: fast
    structure: A line.
    prompt: Say hello and count to five.
    output: text
    gates:
      - { when: the line holds a number, then: ok, to: END }
      - { when: otherwise, then: ok, to: END }
"""


@pytest.mark.model
@pytest.mark.skipif(not embedded_available(), reason="needs the extra 'local'")
def test_a_run_on_the_embedded_models_own_port_is_the_same_streamed_and_plain(folder: Path) -> None:
    (folder / "greeting.mkl").write_text(JUDGED)
    flags = ("run", "greeting.mkl", "--config", "runtime.yaml")
    params = "params: { fast: { max_tokens: 16, temperature: 0, cache_prompt: false } }"

    async def program_on(url: str, key: str, *more: str) -> dict[str, Any]:
        configure(folder, url, "api_key_env: PORT_KEY", params)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "mklang.cli.main", *flags, *more,
            cwd=folder, env=environment(folder, PORT_KEY=key),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return json.loads(out)  # type: ignore[no-any-return]

    async def scenario() -> list[dict[str, Any]]:
        model = LocalModel.embedded()
        address = await model.endpoint()
        plain = await program_on(address.base_url, address.api_key)
        streamed = await program_on(address.base_url, address.api_key, "--events", "events.jsonl")
        await model.aclose()
        return [plain, streamed]

    plain, streamed = asyncio.run(scenario())
    for told in (plain, streamed):
        (step,) = told["trace"]
        assert step["output"].strip()
        assert step["judgements"][0].get("read", "clean") == "clean"
        assert "judge_fallback" not in step
        assert step["cost"]["input_tokens"] > 100
    assert streamed["result"] == plain["result"]
    assert streamed["trace"][0]["gate"] == plain["trace"][0]["gate"]
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    written = [event for event in events if event["type"] == "llm-delta" and event["operation"] == "produce"]
    assert "".join(event["delta"] for event in written) == plain["trace"][0]["output"]
    assert len(written) > 1
