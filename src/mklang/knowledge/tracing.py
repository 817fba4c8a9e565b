"""Where something comes from and what comes of it: rule, pattern, distillation, record, in both directions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from mklang.errors import UsageError
from mklang.knowledge.home import Home
from mklang.knowledge.ledger import Ledger
from mklang.knowledge.operations import Distilled, State
from mklang.knowledge.patterns import pattern_id
from mklang.knowledge.promotion import Active, active_rules
from mklang.knowledge.reading import Located, read_log


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a chain. ``depth`` counts from what was asked about; ``gone`` when it is no longer there."""

    depth: int
    kind: str
    id: str
    text: str
    gone: bool = False


def where(home: Home, state: State, ledger: Ledger, subject: str) -> list[Link]:
    """The chain of a rule, a pattern, a run, a record or a session, from what rests on it down to what it rests on.

    Raises ``UsageError`` for a name that nothing has.
    """
    rules = active_rules(home, ledger.rows)
    found = [
        *(link for rule in rules if rule.rule.id == subject for link in _of_rule(rule, state, home)),
        *(() if any(rule.rule.id == subject for rule in rules) else _of_pattern(subject, state, home, rules=rules)),
    ]
    found = found or [*_of_source(subject, state, home, rules)]
    if not found:
        raise UsageError(f"nothing is called '{subject}': give a rule, a pattern, a run, a record or a session")
    return found


def _of_rule(active: Active, state: State, home: Home) -> Iterator[Link]:
    row = active.decision
    yield Link(0, "rule", active.rule.id, f"{active.rule.text} ({active.target}, {row.actor} {row.at})")
    for pattern in row.patterns:
        for link in _of_pattern(pattern, state, home):
            yield Link(link.depth + 1, link.kind, link.id, link.text, link.gone)


def _of_pattern(name: str, state: State, home: Home, rules: list[Active] | None = None) -> Iterator[Link]:
    runs, pattern = state.lineage(name), state.patterns.get(name)
    if pattern is None and not runs:
        return
    depth = 0
    for active in rules or ():
        if name in active.decision.patterns:
            yield Link(0, "rule", active.rule.id, f"{active.rule.text} ({active.target})")
            depth = 1
    text = pattern.pattern if pattern else _said(runs, name)
    yield Link(depth, "pattern", name, text, gone=pattern is None)
    for run in runs:
        basis = run.basis
        yield Link(depth + 1, "run", basis.run, f"{basis.at}, {basis.model}, {len(basis.episodes)} records")
        yield from _records(basis.episodes, home, depth + 2, limit=20)


def _of_source(name: str, state: State, home: Home, rules: list[Active]) -> Iterator[Link]:
    """What came of a run, a record or a session."""
    reached = state.reached_by(name)
    if name not in state.runs and not any(
        name in one.basis.episodes + one.basis.sessions for one in state.runs.values()
    ):
        return
    for pattern in reached:
        for active in rules:
            if pattern in active.decision.patterns:
                yield Link(0, "rule", active.rule.id, f"{active.rule.text} ({active.target})")
        kept = state.patterns.get(pattern)
        text = kept.pattern if kept else _said(state.lineage(pattern), pattern)
        yield Link(1, "pattern", pattern, text, gone=kept is None)
    if name in state.runs:
        yield from _records(state.runs[name].basis.episodes, home, 2, limit=20)
    else:
        yield from _records((name,), home, 2, limit=1)


def _said(runs: list[Distilled], name: str) -> str:
    return next((found.pattern for run in runs for found in run.found if pattern_id(found.pattern) == name), "")


def _records(names: tuple[str, ...], home: Home, depth: int, *, limit: int) -> Iterator[Link]:
    wanted, shown = set(names), 0
    for found in read_log(home.logs):
        if shown >= limit:
            break
        if isinstance(found, Located) and found.id in wanted:
            shown += 1
            data = {key: value for key, value in found.record.data.items() if key != "_akc"}
            said = json.dumps(data, ensure_ascii=False)
            text = f"{found.file}:{found.line} {found.record.origin.value} {found.record.type}: {said}"
            yield Link(depth, "record", found.id, text[:200])
    if len(names) > limit:
        yield Link(depth, "record", "", f"and {len(names) - limit} more")
