"""A host in a program: what it is given is its own, however many there are and whatever runs at the same time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mklang
from mklang.engine.events import AnyEvent
from mklang.engine.requests import Ask, Nonce, NonceValue, NotYet, Observation, Produce, Produced, Request
from mklang.errors import ConfigError, DocumentError, RunStoreError, UsageError
from mklang.lang.values import Json

NOBODY = {"base_url": "http://localhost:9/v1", "model": "none"}
WRITES = """\
mklang: "0.4"
machine: writes
entry: save
budget: 6
result: seen
context: { name: "", text: "" }
states:
  save:
    tool: write_file
    input: { path: "{{name}}.txt", content: "{{text}}" }
    output: wrote
    gates: [{ when: otherwise, then: ok, to: look }]
  look: { tool: list_files, output: seen, gates: [{ when: otherwise, then: ok, to: END }] }
"""
LETTER = """\
mklang: "0.4"
machine: letter
entry: draft
budget: 9
result: sent
context: { mail: "", human: { reply: "" } }
states:
  draft:
    structure: A reply.
    prompt: "Answer: {{mail}}"
    output: draft
    gates: [{ when: otherwise, escalate: true, ask: May this go out?, to: send }]
  send:
    tool: post
    input: { text: "{{draft}}" }
    output: sent
    gates: [{ when: otherwise, then: ok, to: END }]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two machines."""
    (tmp_path / "writes.mkl").write_text(WRITES)
    (tmp_path / "letter.mkl").write_text(LETTER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.rule("L119")
def test_a_machine_is_loaded_checked_and_run_with_a_line_each(folder: Path) -> None:
    assert mklang.load("writes.mkl").machine.name == "writes"
    assert mklang.check("writes.mkl") == ()
    (folder / "bad.mkl").write_text(WRITES.replace("to: look", "to: lok"))
    assert [found.code for found in mklang.check("bad.mkl") if found.severity.value == "error"] == ["target-unknown"]
    with pytest.raises(DocumentError, match="lok"):
        mklang.run("bad.mkl", **NOBODY)
    done = mklang.run("writes.mkl", {"name": "a", "text": "x"}, allow_write=True, **NOBODY)
    assert isinstance(done, mklang.Done)
    assert json.loads(str(done.result))["count"] == 4
    halted = asyncio.run(mklang.arun("writes.mkl", {"name": "b"}, **NOBODY))
    assert '"written": false' in str(halted.context["wrote"])  # nobody granted it here


def test_two_runtimes_with_a_hundred_runs_at_once_do_not_see_each_other(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
    calls: dict[str, list[str]] = {"one": [], "two": []}

    def runtime(name: str, *, allow_write: bool) -> mklang.Runtime:
        @mklang.tool(name="note", effect="read")
        def note(what: str) -> str:
            calls[name].append(what)
            return f"{name}:{what}"

        return mklang.Runtime(tools=[note], workspace=folder / name, allow_write=allow_write, **NOBODY)

    (folder / "both.mkl").write_text(
        WRITES.replace("to: look", "to: note").replace(
            "  look:",
            '  note: { tool: note, input: { what: "{{name}}" }, output: noted, gates: '
            "[{ when: otherwise, then: ok, to: look }] }\n  look:",
        )
    )
    one, two = runtime("one", allow_write=True), runtime("two", allow_write=False)
    machine = mklang.load("both.mkl")

    async def scenario() -> list[mklang.Outcome]:
        hosts = [one, two] * 50
        return await asyncio.gather(*(host.arun(machine, {"name": f"n{i}"}) for i, host in enumerate(hosts)))

    outcomes = asyncio.run(scenario())
    assert all(isinstance(outcome, mklang.Done) for outcome in outcomes)
    for number, outcome in enumerate(outcomes):
        wrote = json.loads(str(outcome.context["wrote"]))
        assert wrote["written"] is (number % 2 == 0)
        assert outcome.context["noted"] == f"{'one' if number % 2 == 0 else 'two'}:n{number}"
    assert sorted(path.name for path in (folder / "one").iterdir()) == sorted(f"n{i}.txt" for i in range(0, 100, 2))
    assert list((folder / "two").iterdir()) == []
    assert sorted(calls["one"] + calls["two"]) == sorted(f"n{i}" for i in range(100))
    assert len(calls["one"]) == 50


class Writer:
    """Answers for a model; counts what it is asked."""

    def __init__(self, sent: list[Json]) -> None:
        self.asked: list[str] = []
        self.sent = sent
        self.reply: Json = None

    async def answer(self, request: Request, /) -> Any:
        self.asked.append(request.key)
        match request:
            case Nonce():
                return NonceValue("n")
            case Produce():
                return Produced(text="Dear customer")
            case Ask():
                return NotYet(question=request.question or "")
        self.sent.append(getattr(request, "input", None))
        return Observation("posted")


def test_a_run_that_waits_for_a_person_is_gone_on_with(folder: Path) -> None:
    sent: list[Json] = []
    writer = Writer(sent)
    runtime = mklang.Runtime(oracle=writer, options=mklang.RunOptions(humans=True))
    waits = runtime.run("letter.mkl", {"mail": "late!"}, journal=folder / "run.jsonl")
    assert isinstance(waits, mklang.Suspended)
    assert [ask.question for ask in waits.asks] == ["May this go out?"]
    assert sent == []
    done = asyncio.run(runtime.aresume(folder / "run.jsonl", {"human.reply": "yes"}))
    assert isinstance(done, mklang.Done)
    assert (done.result, sent) == ("posted", [{"text": "Dear customer"}])
    assert writer.asked.count("1:draft/produce") == 1
    with pytest.raises(RunStoreError, match="finished"):
        asyncio.run(runtime.aresume(folder / "run.jsonl"))


def test_a_run_is_stepped_from_outside_and_asks_nobody_while_an_event_is_held(folder: Path) -> None:
    writer = Writer([])
    runtime = mklang.Runtime(oracle=writer)

    async def scenario() -> tuple[list[str], list[int], mklang.Outcome]:
        stream = runtime.stream("letter.mkl", {"mail": "late!"})
        with pytest.raises(UsageError, match="not ended"):
            _ = stream.outcome
        kinds: list[str] = []
        asked: list[int] = []
        async for event in stream:
            before = len(writer.asked)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert len(writer.asked) == before
            kinds.append(type(event).__name__)
            asked.append(before)
        return kinds, asked, stream.outcome

    kinds, asked, outcome = asyncio.run(scenario())
    assert kinds == ["RunStart", "StateStart", "ModelAsked", "StateDone", "StateStart", "StateDone", "RunFinished"]
    assert asked == sorted(asked)
    assert (asked[0], asked[-1]) == (1, 3)
    assert isinstance(outcome, mklang.Done)


def test_a_stream_that_is_left_early_calls_the_run_off(folder: Path) -> None:
    writer = Writer([])

    async def scenario() -> AnyEvent:
        async with mklang.Runtime(oracle=writer).stream("letter.mkl") as stream:
            async for event in stream:
                return event
        raise AssertionError

    assert type(asyncio.run(scenario())).__name__ == "RunStart"
    assert writer.sent == []


def test_what_cannot_be_run_raises_when_the_first_event_is_asked_for(folder: Path) -> None:
    async def scenario() -> None:
        async for _ in mklang.Runtime(oracle=Writer([])).stream("nowhere.mkl"):
            raise AssertionError

    with pytest.raises(DocumentError):
        asyncio.run(scenario())


def test_a_runtime_goes_by_the_folder_and_the_variables_it_is_given(folder: Path, tmp_path: Path) -> None:
    (folder / "project" / "config").mkdir(parents=True)
    (folder / "project/config/runtime.yaml").write_text("tools: { search: { backend: fake } }")
    here = mklang.Runtime(folder=folder / "project", environ={"MKLANG_CONFIG_DIR": str(tmp_path / "none")})
    assert here.configuration.knob("search.backend").value == "fake"
    assert mklang.Runtime().configuration.knob("search.backend").value is None
    with pytest.raises(ConfigError, match="no such file"):
        mklang.Runtime(config="nowhere.yaml")


def test_what_means_nothing_is_refused_with_what_to_do(folder: Path) -> None:
    with pytest.raises(UsageError, match="choice or noul"):
        mklang.Runtime(judge="best")

    async def inside() -> None:
        mklang.run("writes.mkl", **NOBODY)

    with pytest.raises(UsageError, match="await"):
        asyncio.run(inside())


def test_hooks_and_tools_by_name_and_as_values(folder: Path) -> None:
    (folder / "h.mkl").write_text(
        "machine: h\nentry: a\nbudget: 2\nstates:\n  a:\n    tool: plain\n    output: o\n    gates:\n"
        "      - { when: yes it is, hook: mine, then: ok, to: END }\n      - { when: otherwise, fail: true }\n"
    )

    def plain(arguments: Mapping[str, Json]) -> str:
        return "ok"

    @mklang.hook(name="mine")
    def asks(o: str) -> bool:
        return o == "ok"

    assert isinstance(mklang.run("h.mkl", tools={"plain": plain}, hooks=[asks], **NOBODY), mklang.Done)


def test_importing_mklang_imports_nothing_else_of_it() -> None:
    script = "import sys, mklang; print(sorted(m for m in sys.modules if m.startswith('mklang.'))); print(dir(mklang))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded, names = out.splitlines()
    assert loaded == "[]"
    assert names == str(sorted(mklang.__all__))
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = mklang.runn  # type: ignore[attr-defined]
    for name in mklang.__all__:
        assert getattr(mklang, name) is not None
