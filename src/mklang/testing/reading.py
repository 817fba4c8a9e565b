"""From a scenario file to typed scenarios, or to every problem in it, each at its place (L90-L94, W56, W58).

Nothing here raises, and one bad scenario leaves the others readable. What the keys are stands in ``vocabulary``.
"""

from __future__ import annotations

from collections.abc import Mapping

from mklang.diagnostics import Diagnostic, has_errors
from mklang.lang.fields import Fields
from mklang.lang.files import read_source
from mklang.lang.findings import Findings, below
from mklang.lang.free_values import read_value, read_values
from mklang.lang.nodes import plain_value, read_map
from mklang.lang.values import Json, thaw
from mklang.lang.yaml_tree import Node, Position, compose
from mklang.oracles.scripted import Manner
from mklang.source import Source
from mklang.testing.options import read_options
from mklang.testing.parts import RULES, inside, report_unknown
from mklang.testing.scenario import UNSET, Expectation, Scenario, ScenarioFile, Unreadable, Unset
from mklang.testing.script_reading import read_script
from mklang.testing.vocabulary import Part


def load_scenarios(path: str) -> ScenarioFile:
    """Read the scenarios in a file; one that cannot be opened is a diagnostic like any other."""
    source, problems = read_source(path)
    return ScenarioFile((), problems) if source is None else read_scenarios(source)


def read_scenarios(source: Source) -> ScenarioFile:
    """Read a scenario file (L90). An error outside the scenarios makes the whole file unusable (L93)."""
    root, problems = compose(source)
    if problems:
        return ScenarioFile((), problems)
    findings = Findings(source.name)
    if root is None:
        empty = Diagnostic(code="no-scenarios", message="the file is empty", path=source.name)
        return ScenarioFile((), (empty,))
    nodes = _scenario_nodes(root, findings)
    if has_errors(findings.everything()):
        return ScenarioFile((), findings.everything())
    read = [_read_scenario(node, index, source.name) for index, node in enumerate(nodes)]
    diagnostics = (*findings.everything(), *(found for _, about in read for found in about))
    return ScenarioFile(tuple(entry for entry, _ in read), diagnostics)


def _scenario_nodes(root: Node, findings: Findings) -> list[Node]:
    entries = read_map(root, findings, "", "a scenario file is a map with the list 'scenarios'")
    if entries is None:
        return []
    fields = Fields(entries, findings, RULES, where="", at=Position(root))
    meant = report_unknown(fields, Part.FILE)
    if "scenarios" not in fields:
        if "scenarios" not in meant:
            fields.missing("scenarios", Part.FILE.value)
        return []
    nodes = fields.items("scenarios")
    if nodes is not None and not nodes:
        fields.problem("no-scenarios", "scenarios", "the list is empty, so nothing would be tested")
    return nodes or []


def _read_scenario(node: Node, index: int, path: str) -> tuple[Scenario | Unreadable, tuple[Diagnostic, ...]]:
    findings, where = Findings(path), f"scenarios[{index}]"
    entries = read_map(node, findings, where, "a scenario is a map")
    label = f"scenario[{index}]"
    scenario = None
    if entries is not None:
        fields = Fields(entries, findings, RULES, where=where, at=Position(node))
        meant = report_unknown(fields, Part.SCENARIO)
        label = fields.text("name") or label
        scenario = read_body(fields, label, meant, manner=Manner.STRICT)
    diagnostics = findings.everything()
    if scenario is None or has_errors(diagnostics):
        return Unreadable(label, diagnostics), diagnostics
    return scenario, diagnostics


def read_body(fields: Fields, name: str, meant: set[str], *, manner: Manner) -> Scenario:
    """Read the keys that scenarios and cases share. What is wrong is noted in the fields' findings."""
    script, options = read_script(fields), read_options(fields)
    inputs = {key: thaw(value) for part in ("context", "input") for key, value in (fields.values(part) or {}).items()}
    expect = _expectation(fields, meant, manner)
    if script.replies and not options.humans:
        hint = "add run: { escalate_suspend: true }"
        fields.problem("nobody-asked", "replies", "nobody is asked unless escalate gates ask people", hint=hint)
    return Scenario(name=name, script=script, inputs=inputs, options=options, expect=expect, span=fields.at.span)


# The expectation


def _expectation(fields: Fields, meant: set[str], manner: Manner) -> Expectation:
    if "expect" not in fields:
        if "expect" not in meant:
            fields.missing("expect", "a scenario", "say how the run must end, at least its 'status'")
        return Expectation()
    expect = inside(fields, "expect", Part.EXPECT)
    if expect is None:
        return Expectation()
    status, prefix = expect.choice("status"), expect.text("error_prefix")
    expected = Expectation(
        status=UNSET if status is None else status,
        error=_text_or_null(expect, "error"),
        error_prefix=UNSET if prefix is None else prefix,
        result=_result(expect),
        at=_text_or_null(expect, "at"),
        ask=_text_or_null(expect, "ask"),
        reply_to=_text_or_null(expect, "reply_to"),
        context={key: thaw(value) for key, value in (expect.values("context") or {}).items()},
        trace=_trace(expect),
    )
    if manner is Manner.STRICT and expected.holds_always and not has_errors(fields.findings.everything()):
        message = "nothing is expected, so the scenario could not fail"
        fields.problem("empty-expectation", "expect", message, hint="add at least 'status: done'")
    return expected


def _text_or_null(fields: Fields, name: str) -> str | Unset | None:
    if name not in fields:
        return UNSET
    if plain_value(fields.entries[name][1]) is None:
        return None
    return fields.text(name)


def _result(expect: Fields) -> Json | Unset:
    if "result" not in expect:
        return UNSET
    return thaw(read_value(expect.entries["result"][1], expect.findings, below(expect.where, "result")))


def _trace(expect: Fields) -> tuple[Mapping[str, Json], ...] | Unset:
    nodes = expect.items("trace") if "trace" in expect else None
    if nodes is None:
        return UNSET
    return tuple(_step(node, expect.findings, f"{expect.where}.trace[{index}]") for index, node in enumerate(nodes))


def _step(node: Node, findings: Findings, where: str) -> Mapping[str, Json]:
    entries = read_map(node, findings, where, "an expected step is a map of trace keys")
    if entries is None:
        return {}
    report_unknown(Fields(entries, findings, RULES, where=where, at=Position(node)), Part.STEP)
    return {name: thaw(value) for name, value in read_values(entries, findings, where).items()}
