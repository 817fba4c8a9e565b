"""Our engine under the contract of the shared ``common.py``: one run is one ``arun`` over an instant or delayed oracle.

The judged variants do what a judged step really costs before a model is asked: the evidence is built and the nonce is
derived by the kernel. ``judge3+prompt`` also writes the judge's messages, fences included, with the code that real
back-ends use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from common import FakeLLM, Unsupported, mk_big_yaml, mk_fanout, mk_linear, mk_loop

from mklang.durable.journal import Begin, JournalFile, create_journal
from mklang.engine.outcome import Done, Halted, Outcome, Reason
from mklang.engine.requests import Answer, Judge, Nonce, NonceValue, Produce, Produced, Request, Verdict
from mklang.engine.run import arun
from mklang.lang.models import Machine
from mklang.lang.reader import load_machine, machine_from_mapping
from mklang.llm.choice import judge_messages
from mklang.oracles.journaled import JournaledOracle

NAME, DIST, NOTES = "mklang (ours)", "mklang", {}
VARIANTS = {
    "steps": ["loop", "linear", "loop-judge3", "loop-judge3+prompt", "loop-accumulate"],
    "fanout": ["default"],
    "concurrent": ["gather"],
    "longctx": ["plain", "judge3", "judge3+prompt", "prompt-uses-big"],
    "durable": ["journal-fsync", "journal-nosync"],
    "load": ["api-total", "read", "check"],
}


class FakeOracle:
    """Answers from the fake model; with ``writes_prompt`` it also writes the messages a judge would get.

    What takes no time is called directly, as the reference's adapter calls it: the fake is not what is measured.
    """

    def __init__(self, delay: float = 0.0, *, writes_prompt: bool = False) -> None:
        self.model = FakeLLM(delay)
        self.writes_prompt = writes_prompt

    async def answer(self, request: Request, /) -> Answer:
        match request:
            case Produce():
                if self.model.delay:
                    return Produced(text=await self.model.aproduce(request.user))
                return Produced(text=self.model.produce(request.user))
            case Judge():
                if self.writes_prompt:
                    judge_messages(request)
                return Verdict(index=self.model.judge(request.conditions, request.output, request.context))
            case Nonce():
                return NonceValue("0123456789abcdef0123456789abcdef")
        raise TypeError(f"not part of any workload: {type(request).__name__}")


def prepare(workload: str, variant: str, p: dict) -> Callable[[], object]:
    return {
        "steps": _steps,
        "fanout": _fanout,
        "concurrent": _concurrent,
        "longctx": _longctx,
        "durable": _durable,
        "load": _load,
    }[workload](variant, p)


def _steps(variant: str, p: dict) -> Callable[[], int]:
    n = p["n"]
    document = mk_linear(n) if variant == "linear" else mk_loop(n, 3 if "judge3" in variant else 0)
    if variant == "loop-accumulate":
        document["states"]["s"]["accumulate"] = True
        document["context"]["out"] = []
    machine, oracle = machine_from_mapping(document), FakeOracle(writes_prompt="+prompt" in variant)

    def go() -> int:
        outcome = asyncio.run(arun(machine, oracle=oracle))
        if variant == "linear":
            assert isinstance(outcome, Done), outcome
            return len(outcome.trace)
        return _steps_of_loop(outcome)

    return go


def _fanout(variant: str, p: dict) -> Callable[[], int]:
    machine, oracle = machine_from_mapping(mk_fanout(p["n"])), FakeOracle(p["delay"])
    items = [f"i{number}" for number in range(p["n"])]

    def go() -> int:
        outcome = asyncio.run(arun(machine, {"items": items}, oracle=oracle))
        assert isinstance(outcome, Done), outcome
        return len(outcome.context["outs"])

    return go


def _concurrent(variant: str, p: dict) -> Callable[[], int]:
    machine, oracle = machine_from_mapping(mk_loop(p["steps"], 0)), FakeOracle(p["delay"])

    async def every_run() -> int:
        outcomes = await asyncio.gather(*(arun(machine, oracle=oracle) for _ in range(p["n"])))
        return sum(_steps_of_loop(outcome) for outcome in outcomes)

    return lambda: asyncio.run(every_run())


def _longctx(variant: str, p: dict) -> Callable[[], int]:
    prompt = "Use {{big}}" if variant == "prompt-uses-big" else "Say ok. Previous: {{out}}"
    machine = machine_from_mapping(mk_loop(p["n"], 3 if "judge3" in variant else 0, prompt))
    oracle, big = FakeOracle(writes_prompt="+prompt" in variant), "x" * p["size"]
    return lambda: _steps_of_loop(asyncio.run(arun(machine, {"big": big}, oracle=oracle)))


def _durable(variant: str, p: dict) -> Callable[[], tuple[int, dict]]:
    machine = machine_from_mapping(mk_loop(p["n"], 0))
    inputs = {"big": "x" * p["size"]}
    journal = new_journal(Path(p["dir"]) / "run.jsonl", machine, inputs, sync=variant == "journal-fsync")
    oracle = JournaledOracle(FakeOracle(), journal, clock=lambda: 0.0)

    def go() -> tuple[int, dict]:
        done = _steps_of_loop(asyncio.run(arun(machine, inputs, oracle=oracle)))
        journal.close()
        return done, {"file_bytes_end": journal.path.stat().st_size}

    return go


def new_journal(path: Path, machine: Machine, inputs: dict, *, sync: bool = True) -> JournalFile:
    begin = Begin(format=1, run="bench", created=0.0, mklang="0", machines=(), inputs=inputs)
    return create_journal(path, begin, sync=sync)


def _load(variant: str, p: dict) -> Callable[[], int]:
    path = Path(p["dir"]) / "big.mkl"
    path.write_text(mk_big_yaml(p["n"], p["gates"]), encoding="utf-8")
    if variant == "read":
        return lambda: len(load_machine(path).states)
    check = _check()
    if variant == "check":
        machine = load_machine(path)
        return lambda: check(machine)

    return lambda: check(load_machine(path))


def _check() -> Callable[[Machine], int]:
    """The analysis as ``mklang check`` runs it; it finds nothing wrong and says how many states it looked at."""
    try:
        from mklang.analysis.runner import check_machine
        from mklang.diagnostics import has_errors
    except ImportError as missing:
        raise Unsupported(f"the analysis is not there yet: {missing}") from missing

    def check(machine: Machine) -> int:
        found = check_machine(machine)
        assert not has_errors(found), found[:2]
        return len(machine.states)

    return check


def _steps_of_loop(outcome: Outcome) -> int:
    assert isinstance(outcome, Halted) and outcome.reason is Reason.BUDGET_EXHAUSTED, outcome
    return len(outcome.trace)
