"""Rules that are in force: which they are, what they came from, and how they get in and out, always by a proposal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mklang.errors import UsageError
from mklang.guards import Guard
from mklang.knowledge.home import Home
from mklang.knowledge.ledger import Event, Row
from mklang.knowledge.operations import State
from mklang.knowledge.proposals import (
    Draft,
    Lineage,
    Proposal,
    Proposals,
    Summary,
    read_target,
    resolve_target,
    shares,
)
from mklang.knowledge.rules import Rule, make_rule, rules_in, with_rule, without_rule


@dataclass(frozen=True, slots=True)
class Active:
    """A rule that a person approved and nobody has taken out: where it stands, by which decision, from what."""

    rule: Rule
    target: str
    decision: Row


def active_rules(home: Home, rows: Iterable[Row]) -> list[Active]:
    """The rules in force: approved in the ledger and still in their file. What only stands in a file was never decided
    on here, and what only stands in the ledger was taken out by hand."""
    approved: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.event is not Event.APPROVED:
            continue
        approved |= {(row.target, name): row for name in row.rules}
        for name in row.removed:
            approved.pop((row.target, name), None)
    found: list[Active] = []
    for target in dict.fromkeys(target for target, _ in approved):
        for rule in rules_in(_text(home, target)):
            if (target, rule.id) in approved:
                found.append(Active(rule, target, approved[target, rule.id]))
    return found


def lineage_of(state: State, patterns: Iterable[str]) -> Lineage:
    """What stands behind patterns: the runs that found them, how many records those read, of which origin."""
    listed = tuple(dict.fromkeys(patterns))
    bases = {one.basis.run: one.basis for pattern in listed for one in state.lineage(pattern)}
    episodes = {episode for basis in bases.values() for episode in basis.episodes}
    share = shares(basis.share for basis in bases.values())
    return Lineage(patterns=listed, runs=tuple(bases), episodes=len(episodes), share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoter:
    """Makes proposals that put rules into a file or take them out. It writes no such file itself (I6)."""

    home: Home
    proposals: Proposals
    guard: Guard

    def propose(self, text: str, target: str, lineage: Lineage, *, why: str = "", judge: str = "") -> Proposal:
        """Propose one rule at the end of a file. Raises ``UsageError``, ``GuardRefused``."""
        rule = make_rule(text)
        content = self.guard.check(with_rule(_text(self.home, target), rule))
        summary = Summary(
            approved_intent=why,
            realised_change=f"one rule more in {target}: {rule.text}",
            impact="read in every session that loads the file",
        )
        draft = Draft(kind="rule", why=why, lineage=lineage, summary=summary, rules=(rule.id,), judge=judge)
        return self.proposals.make(target, content, draft)

    def anew(self, old: Proposal, stored: bytes) -> Proposal:
        """Propose the same rule, or its removal, for the file as it is now. Raises ``UsageError`` for a proposal of
        something else, and when the file has the rule already or no longer."""
        if old.kind not in {"rule", "remove-rule"} or len(old.rules) + len(old.removed) != 1:
            raise UsageError(f"{old.target} has changed since {old.id} was made; propose it again, or reject it")
        text = _text(self.home, old.target)
        changed = (
            with_rule(text, make_rule(_said(stored, old.rules[0]))) if old.rules else without_rule(text, old.removed[0])
        )
        names = Draft.__struct_fields__
        draft = Draft(**{name: getattr(old, name) for name in names})
        return self.proposals.make(old.target, self.guard.check(changed), draft)

    def propose_removal(self, active: Active, *, why: str) -> Proposal:
        """Propose to take a rule out of its file. Raises ``UsageError`` when it is not there as it was written."""
        content = self.guard.check(without_rule(_text(self.home, active.target), active.rule.id))
        patterns = Lineage(patterns=active.decision.patterns)
        summary = Summary(
            approved_intent=why,
            realised_change=f"one rule less in {active.target}: {active.rule.text}",
            impact="no session loads it any more",
        )
        draft = Draft(kind="remove-rule", why=why, lineage=patterns, summary=summary, removed=(active.rule.id,))
        return self.proposals.make(active.target, content, draft)


def _said(stored: bytes, rule: str) -> str:
    """The text of a rule in the file that a proposal would have made."""
    return next(one.text for one in rules_in(stored.decode()) if one.id == rule)


def resting_on(rules: Iterable[Active], gone: Iterable[str]) -> list[Active]:
    """The rules that came from a pattern that is gone."""
    lost = set(gone)
    return [one for one in rules if lost.intersection(one.decision.patterns)]


def _text(home: Home, target: str) -> str:
    data = read_target(resolve_target(home, target))
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{target} is not UTF-8 (byte {error.start})") from error
