"""From marks to findings: which sinks were reached, by what, and which loops, verdicts and guards break the split."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from mklang.audit.findings import AuditFinding, Point
from mklang.audit.python.entries import ASKS, HOLDS, ROOT, TAINTED, WEAK, Entry, Key, View
from mklang.audit.python.ir import APPROVED, Function, Loop, Sink, said_name
from mklang.audit.python.layers import Layer, LayerRules
from mklang.audit.python.solving import Solver

_HINT = "let a guard check it first (mklang.guards.Guard, a schema), and write what the guard gives back"
_DEPTH = 4
_MOST_STATIONS = 12
_MOST_CONTEXTS = 64


class Reporter:
    """The findings of one project."""

    def __init__(self, solver: Solver, layers: LayerRules) -> None:
        self.solver = solver
        self.layers = layers
        self.seen: dict[tuple[str, int, int, str, Point], AuditFinding] = {}
        self.calling = asking_functions(solver)
        self.guarded = {(one.path, one.line, one.column) for one in solver.guarded}

    def findings(self) -> list[AuditFinding]:
        """Everything, unordered."""
        for entry in list(self.solver.entries.values()):
            self._sinks(entry)
            self._verdicts(entry)
        found = list(self._strongest())
        for name in self.solver.of_function:
            found += self._decisions(self.solver.view(name))
        for function in (self.solver.project.functions[name] for name in sorted(self.calling)):
            found += self._loops(function)
            found += self._asking_guards(function)
        return found

    # -- values that arrive -------------------------------------------------------------------------------------------

    def _sinks(self, entry: Entry) -> None:
        for key in list(entry.reach):
            for number in entry.view.sinks.get(key[0], ()) if key[1] != ASKS else ():
                sink = entry.view.function.sinks[number]
                if self._is_ours(entry.view, sink):
                    continue
                if key[1] < HOLDS or sink.effect == "write":  # an object is no command and no file name
                    self._arrived(entry, key, sink)
        for (name, number), caller in self.solver.called_sinks.items():
            if caller is entry:
                self._declared(entry, name, number)

    def _is_ours(self, view: View, sink: Sink) -> bool:
        """Whether what looks like a write is a call of something of ours, into which the value was followed."""
        calls = view.function.calls
        if not 0 <= sink.call < len(calls) or calls[sink.call].kind != "sink":
            return False
        return calls[sink.call].line <= sink.line and bool(self.solver.targets(view, sink.call))

    def _declared(self, entry: Entry, name: str, number: int) -> None:
        call = self.solver.project.functions[name].calls[number]
        layer = Layer.KNOWLEDGE
        for target in self.solver.targets(entry.view, number):
            for said in self.solver.project.functions[target.function].marks if target.function else ():
                if said.rpartition(".")[2].partition(":")[0] == "sink" and ":" in said:
                    layer = Layer[said.rpartition(":")[2].upper()]
        for _, held in call.args:
            for mark in (TAINTED, WEAK):
                if (held, mark) in entry.reach:
                    what = call.ref.rpartition(":")[2].rpartition(".")[2]
                    sink = Sink(held, call.line, call.column, what, "write", layer.name.casefold())
                    self._arrived(entry, (held, mark), sink)

    def _arrived(self, entry: Entry, key: Key, sink: Sink) -> None:
        for hints, via in islice(self._contexts(entry, sink.hints, 0), _MOST_CONTEXTS):
            layer = self._layer(sink, hints)
            trace = self.solver.trace(entry, key, via)
            code = self._code(key[1], sink, layer, trace)
            origin = trace[0]
            place = (entry.view.path, sink.line, sink.column, code, origin)
            if place not in self.seen:
                self.seen[place] = _finding(entry.view, code, sink, (layer, trace))

    def _contexts(
        self, entry: Entry, hints: list[str], depth: int
    ) -> Iterator[tuple[list[str], tuple[Entry, int, Key] | None]]:
        """What is known of the place, for each caller that says which place it is."""
        open_params = sorted({int(one[1:]) for one in hints if one[:1] == "$" and one[1:].isdigit()})
        callers = [(outer, number, key, target) for outer, number, key, target in entry.callers.values()]
        if not open_params or not callers or depth > _DEPTH:
            yield self._constants(hints, entry), None
            return
        for outer, number, key, target in callers:
            call = outer.view.function.calls[number]
            told: list[str] = [one for one in hints if one[:1] != "$"]
            for name, given in call.hints:
                if name != "<values>" and set(self.solver.positions(target, name)) & set(open_params):
                    told = given + told
            for more, _ in self._contexts(outer, told, depth + 1):
                yield more, (outer, number, key)

    def _constants(self, hints: list[str], entry: Entry) -> list[str]:
        told: list[str] = []
        project = self.solver.project
        for one in hints:
            if one[:1] == "=":
                module, _, name = project.full(one[1:]).rpartition(".")
                known = project.index.module(module)
                told += [more for more in known.constants.get(name, ()) if more[:1] not in "=$"] if known else []
            elif one[:1] != "$":
                told.append(one)
        if entry.slot == ROOT and any(one[:1] == "$" for one in hints):
            told += self._from_callers(entry, hints)
        return told

    def _from_callers(self, entry: Entry, hints: list[str]) -> list[str]:
        told: list[str] = []
        name = entry.view.function.name
        wanted = {int(one[1:]) for one in hints if one[:1] == "$" and one[1:].isdigit()}
        for caller, number in self.solver.callers_of(name)[:8]:
            call = self.solver.project.functions[caller].calls[number]
            for target in self.solver.targets(self.solver.view(caller), number):
                for key, given in call.hints if target.function == name else ():
                    if key != "<values>" and wanted & set(self.solver.positions(target, key)):
                        told += [one for one in given if one[:1] not in "$="]
        return told

    def _layer(self, sink: Sink, hints: list[str]) -> Layer:
        if sink.effect == "log":
            return Layer.LOG
        if sink.layer and sink.layer != "sql":
            return Layer[sink.layer.upper()]
        return self.layers.of(hints)

    def _code(self, mark: int, sink: Sink, layer: Layer, trace: list[Point]) -> str:
        if layer <= Layer.PROPOSAL and sink.effect != "execute":
            return "AK901"
        if sink.effect == "execute":
            return "AK103"
        if mark == WEAK:
            return "AK106"
        if self._was_guarded(trace):
            return "AK104"
        return "AK101" if layer >= Layer.BEHAVIOUR else "AK102"

    def _was_guarded(self, trace: list[Point]) -> bool:
        return any((one.path, one.line, one.column) in self.guarded for one in trace)

    def _strongest(self) -> Iterator[AuditFinding]:
        """One line: the worst of what was found there, by the shortest way."""
        order = ["AK103", "AK101", "AK104", "AK102", "AK106", "AK901"]
        best: dict[tuple[str, int], AuditFinding] = {}
        for (path, line, _, code, _), found in self.seen.items():
            if code not in order:
                yield found
                continue
            known = best.get((path, line))
            rank = (order.index(code), len(found.trace))
            if known is None or rank < (order.index(known.code), len(known.trace)):
                best[path, line] = found
        yield from best.values()

    # -- verdicts and decisions ---------------------------------------------------------------------------------------

    def _verdicts(self, entry: Entry) -> None:
        for key in entry.reach:
            for number in entry.view.verdicts.get(key[0], ()) if key[1] in {TAINTED, WEAK} else ():
                _, line, column, word = entry.view.function.verdicts[number]
                trace = self.solver.trace(entry, key)
                message = f"the verdict is taken from '{word.strip()}' occurring in a model's text"
                self.seen[entry.view.path, line, column, "AK301", Point("", 0)] = AuditFinding(
                    code="AK301",
                    message=message,
                    path=entry.view.path,
                    line=line,
                    column=column,
                    trace=_stations(trace, entry.view, (line, column), "looked for here"),
                    where=_short(entry.view),
                    hint="ask for one word of a closed set, compare it whole, and refuse anything else",
                )

    def _decisions(self, view: View) -> Iterator[AuditFinding]:
        """A verdict that changes behaviour although nobody approved."""
        entries = self.solver.of_function[view.function.name]
        for sink in view.function.sinks:
            if not sink.control or APPROVED in sink.control or sink.effect in {"log", "execute"}:
                continue
            for entry in entries:
                key = next(
                    ((node, mark) for node in sink.control for mark in (TAINTED, WEAK) if (node, mark) in entry.reach),
                    None,
                )
                if key is None or any((sink.node, mark) in one.reach for one in entries for mark in (TAINTED, WEAK)):
                    continue
                hints = next(iter(self._contexts(entry, sink.hints, 0)))[0]
                layer = self._layer(sink, hints)
                if layer >= Layer.BEHAVIOUR:
                    trace = _stations(
                        self.solver.trace(entry, key), view, (sink.line, sink.column), f"decides {sink.what}()"
                    )
                    message = f"a model's verdict decides a write to {_kind(layer)}, and nobody approves it"
                    yield AuditFinding(
                        code="AK302",
                        message=message,
                        path=view.path,
                        line=sink.line,
                        column=sink.column,
                        trace=trace,
                        where=_short(view),
                        hint="make a proposal of it, and let a person say yes",
                    )
                break

    # -- loops and guards ---------------------------------------------------------------------------------------------

    def _asks(self, function: Function, number: int) -> bool:
        call = function.calls[number]
        if call.kind == "source":
            return True
        targets = self.solver.targets(self.solver.view(function.name), number)
        return any(one.function in self.solver.asking and one.function in self.calling for one in targets)

    def _from_model(self, function: Function, nodes: list[int]) -> bool:
        marks = [entry.reach for entry in self.solver.of_function.get(function.name, ())]
        return bool(nodes) and all(
            any((node, mark) in reach for reach in marks for mark in (TAINTED, WEAK)) for node in nodes
        )

    def _loops(self, function: Function) -> Iterator[AuditFinding]:
        for loop in function.loops:
            if not any(self._asks(function, number) for number in loop.calls):
                continue
            code = self._loop_code(function, loop)
            if code:
                told = {
                    "AK201": ("only what a model says ends this loop", "count the rounds and stop at a limit"),
                    "AK202": (
                        "a failed call is tried again without a limit",
                        "count the attempts and give up at a limit",
                    ),
                }[code]
                path = self.solver.project.file_of[function.name].path
                yield AuditFinding(
                    code=code,
                    message=told[0],
                    path=path,
                    line=loop.line,
                    column=loop.column,
                    trace=(Point(path, loop.line, loop.column),),
                    where=_short_name(function.name),
                    hint=told[1],
                )

    def _loop_code(self, function: Function, loop: Loop) -> str:
        told = [nodes for nodes in loop.exits if nodes]
        if loop.retry and all(self._from_model(function, nodes) for nodes in told):
            return "AK202"
        if loop.exits and len(told) == len(loop.exits) and all(self._from_model(function, nodes) for nodes in told):
            return "AK201"
        return ""

    def _asking_guards(self, function: Function) -> Iterator[AuditFinding]:
        if not self.solver.is_guard(function.name):
            return
        path = self.solver.project.file_of[function.name].path
        for number, call in enumerate(function.calls):
            if self._asks(function, number):
                yield AuditFinding(
                    code="AK105",
                    message=f"guard {_short_name(function.name)}() asks a model",
                    path=path,
                    line=call.line,
                    column=call.column,
                    trace=(Point(path, function.line), Point(path, call.line, call.column)),
                    where=_short_name(function.name),
                    hint="a guard is code; let a model score quality elsewhere",
                )


def asking_functions(solver: Solver) -> set[str]:
    """The functions that ask a model, themselves or through others."""
    functions = solver.project.functions
    found = {name for name, one in functions.items() if any(call.kind == "source" for call in one.calls)}
    found |= {name for name, back in solver.asking.items() if back.entry is None}
    waiting = list(found)
    while waiting:
        for caller, _ in solver.callers_of(waiting.pop()):
            if caller not in found:
                found.add(caller)
                waiting.append(caller)
    return found


def _finding(view: View, code: str, sink: Sink, about: tuple[Layer, list[Point]]) -> AuditFinding:
    layer, trace = about
    message, hint = _words(code, sink, layer)
    stations = _stations(trace, view, (sink.line, sink.column), f"{sink.what}()")
    return AuditFinding(
        code=code,
        message=message,
        path=view.path,
        line=sink.line,
        column=sink.column,
        trace=stations,
        where=_short(view),
        hint=hint,
    )


def _words(code: str, sink: Sink, layer: Layer) -> tuple[str, str]:
    target = f"{sink.what}() ({_kind(layer)})"
    match code:
        case "AK103":
            return f"model output is executed by {sink.what}()", "map it to one of a closed set of actions in code"
        case "AK104":
            return (
                f"model output reaches {target}; a guard looks at it, but not on this way or not at this value",
                _HINT,
            )
        case "AK106":
            return f"model output reaches {target} after a weak check only", "check it with a schema and bounds"
        case "AK901":
            return f"model output reaches {target}", ""
        case _:
            names = "names the file for" if sink.effect == "name" else "reaches"
            return f"model output {names} {target} and no guard is on the way", _HINT


def _kind(layer: Layer) -> str:
    return {
        Layer.SCRATCH: "a temporary file",
        Layer.LOG: "a log",
        Layer.PROPOSAL: "a proposal",
        Layer.KNOWLEDGE: "durable state",
        Layer.BEHAVIOUR: "a file that steers behaviour",
        Layer.CONTROL: "a control file",
        Layer.EVIDENCE: "a file that is evidence",
    }[layer]


def _stations(trace: list[Point], view: View, at: tuple[int, int], note: str) -> tuple[Point, ...]:
    """One station a line, the last one the arrival."""
    stations: list[Point] = []
    for point in trace:
        if stations and (stations[-1].path, stations[-1].line) == (point.path, point.line):
            if point.note and not stations[-1].note:
                stations[-1] = point
            continue
        stations.append(point)
    if stations and (stations[-1].path, stations[-1].line) == (view.path, at[0]) and len(stations) > 1:
        stations.pop()
    if len(stations) > _MOST_STATIONS:
        half = _MOST_STATIONS // 2
        stations = stations[:half] + stations[-half:]
    return (*stations, Point(view.path, *at, note))


def _short(view: View) -> str:
    return _short_name(view.function.name)


def _short_name(name: str) -> str:
    return said_name(name).replace(".<locals>", "")
