"""Python pipelines told in the four patterns, and the seven review questions answered from their text (S45).

A pipeline is a function that asks a model, through others if need be, and is not called by another that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mklang.audit.describe import Answer, Described, Reviewed
from mklang.audit.findings import AuditFinding, Point
from mklang.audit.python.findings import asking_functions
from mklang.audit.python.ir import Function
from mklang.audit.python.solving import Solver

_WRITES = frozenset({"AK101", "AK102", "AK103", "AK104", "AK106"})
_LOOPS = frozenset({"AK201", "AK202"})
_VERDICTS = frozenset({"AK301", "AK302"})


@dataclass(frozen=True)
class _Pipeline:
    solver: Solver
    name: str
    functions: frozenset[str]
    codes: frozenset[str]
    guards: tuple[Point, ...]
    sinks: int

    def each(self) -> Iterator[Function]:
        """The functions of the pipeline."""
        return (self.solver.project.functions[name] for name in sorted(self.functions))


def describe_python(solver: Solver, findings: Iterable[AuditFinding]) -> tuple[Described, ...]:
    """Every pipeline of a project."""
    listed = list(findings)
    asking = asking_functions(solver)
    roots = sorted(name for name in asking if not any(caller in asking for caller, _ in solver.callers_of(name)))
    return tuple(_described(_pipeline(solver, name, listed)) for name in roots)


def _pipeline(solver: Solver, name: str, findings: list[AuditFinding]) -> _Pipeline:
    reached = {name}
    waiting = [name]
    while waiting:
        view = solver.view(waiting.pop())
        for number in range(len(view.function.calls)):
            for target in solver.targets(view, number):
                if target.function and target.function not in reached:
                    reached.add(target.function)
                    waiting.append(target.function)
    shown = {one.replace(".<locals>", "") for one in reached}
    lines = {
        (solver.project.file_of[one].path, line)
        for one in reached
        for line in (solver.project.functions[one].line, *solver.project.functions[one].lines)
    }
    codes = frozenset(one.code for one in findings if one.where in shown and _belongs(one, lines))
    guards = tuple(sorted({point for point in solver.guarded if _within(point, solver, reached)}, key=str))
    sinks = sum(
        key[1] in {1, 2} and key[0] in entry.view.sinks
        for one in reached
        for entry in solver.of_function.get(one, ())
        for key in entry.reach
    )
    return _Pipeline(solver, name, frozenset(reached), codes, guards, sinks)


def _belongs(finding: AuditFinding, lines: set[tuple[str, int]]) -> bool:
    """Whether the whole way of a finding lies in these lines; its own end may be an argument on a line of its own."""
    return all((point.path, point.line) in lines for point in finding.trace[:-1])


def _within(point: Point, solver: Solver, names: set[str]) -> bool:
    return any(
        solver.project.file_of[name].path == point.path
        and point.line in {solver.project.functions[name].line, *solver.project.functions[name].lines}
        for name in names
    )


def _described(pipeline: _Pipeline) -> Described:
    path = pipeline.solver.project.file_of[pipeline.name].path
    name = pipeline.name.replace(".<locals>", "")
    return Described(name, path, tuple(_patterns(pipeline)), tuple(_review(pipeline)))


def _patterns(pipeline: _Pipeline) -> Iterator[tuple[str, str]]:
    if pipeline.guards:
        yield "guard (model → code)", ", ".join(f"{one.path}:{one.line}" for one in pipeline.guards[:5])
    verdicts = [f"{one.name.rpartition('.')[2]}()" for one in pipeline.each() if one.verdicts]
    if verdicts:
        yield "judge + enforce (model → verdict → code)", ", ".join(verdicts)
    loops = [one for one in pipeline.each() if one.loops]
    if loops:
        yield "orchestrator (code loop, model works)", ", ".join(f"{one.name.rpartition('.')[2]}()" for one in loops)


def _review(pipeline: _Pipeline) -> Iterator[Reviewed]:
    yield _guard(pipeline)
    bad_loop = pipeline.codes & _LOOPS
    endless = any(one.loops for one in pipeline.each())
    if bad_loop:
        ends = Reviewed("who ends the loop?", Answer.FINDING, f"a model, or nobody ({', '.join(sorted(bad_loop))})")
    elif endless:
        ends = Reviewed("who ends the loop?", Answer.FINE, "every loop has an exit that no model decides")
    else:
        ends = Reviewed("who ends the loop?", Answer.FINE, "only loops over something that ends")
    yield ends
    yield Reviewed(
        "is filtering before the model and in code?", Answer.UNCLEAR, "the text does not say what is selected"
    )
    yield _judge(pipeline)
    yield Reviewed("does it resume from disk?", Answer.UNCLEAR, "nothing in the text shows a journal")
    yield Reviewed("is every input fenced?", Answer.UNCLEAR, "the text does not say what comes from outside")
    budget = Answer.FINDING if bad_loop else Answer.UNCLEAR
    yield Reviewed(
        "are budget and completion deterministic?", budget, "see who ends the loop; a budget is not looked for"
    )


def _guard(pipeline: _Pipeline) -> Reviewed:
    question = "where is the guard?"
    bad = pipeline.codes & _WRITES
    if bad:
        return Reviewed(question, Answer.FINDING, f"not on every way ({', '.join(sorted(bad))})")
    if pipeline.guards:
        return Reviewed(question, Answer.FINE, f"at {pipeline.guards[0].path}:{pipeline.guards[0].line}")
    if not pipeline.sinks:
        return Reviewed(question, Answer.NOT_NEEDED, "nothing a model says was seen to become durable")
    return Reviewed(question, Answer.UNCLEAR, "model output reaches logs, proposals or silenced places only")


def _judge(pipeline: _Pipeline) -> Reviewed:
    question = "can the judge write?"
    bad = pipeline.codes & _VERDICTS
    if bad:
        return Reviewed(question, Answer.FINDING, f"a verdict is read or used badly ({', '.join(sorted(bad))})")
    return Reviewed(question, Answer.UNCLEAR, "whether an answer is a verdict cannot be read off the text")
