"""Rules applied to machines: the two questions every command asks, ``check`` and ``lint`` (L11-L16).

A finding never stops another. What a rule found becomes a diagnostic here, with the rule's code and the file's name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from mklang.analysis.closure import Closure
from mklang.analysis.facts import Facts
from mklang.analysis.registry import AFTER, CHECK, LINT, RUN, Finding, Rule, every, load
from mklang.analysis.subject import Subject
from mklang.analysis.suppress import read_suppressions, silence
from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.lang.models import Machine, Tier
from mklang.source import Source, Span


class Memory:
    """What is known about machines. Analysers of machines that call the same others may share it."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.facts: dict[int, Facts] = {}
        self.checked: dict[int, tuple[Diagnostic, ...]] = {}
        """What ``check`` finds in a machine that is called, by the identity of its facts."""


class Analyser:
    """Checks and lints machines against one library, and looks at each machine of it only once."""

    def __init__(
        self,
        library: Mapping[str, Machine] | None = None,
        *,
        strict: bool = False,
        tiers: Collection[Tier] | None = None,
        memory: Memory | None = None,
    ) -> None:
        """``library`` maps names to machines, lazily if it likes, and ``tiers`` are those the host has a model for.

        None for either means that it is not known, and then nothing is said about it. ``memory`` may be shared with
        analysers that have the same ``strict`` and ``tiers``, and whose libraries give the same machines.
        """
        self._library = library
        self._strict = strict
        self._tiers = None if tiers is None else frozenset(tiers)
        self._memory = memory or Memory()

    def check(
        self, machine: Machine, source: Source | None = None, *, known: Iterable[Diagnostic] = ()
    ) -> tuple[Diagnostic, ...]:
        """Errors and warnings, in reading order, and what is ``known`` from reading, less what comments silence."""
        subject = self.subject(machine, source)
        found = in_order({*known, *apply_rules(self._checking(), subject)})
        return silence(found, subject.suppressions).kept

    def lint(
        self, machine: Machine, source: Source | None = None, *, known: Iterable[Diagnostic] = ()
    ) -> tuple[Diagnostic, ...]:
        """``check``, findings and notes. ``source`` sharpens places and lets text and comments be seen."""
        subject = self.subject(machine, source)
        silenced = silence({*known, *apply_rules(self._checking() + load(LINT), subject)}, subject.suppressions)
        after = apply_rules(load(AFTER), replace(subject, unused=silenced.unused)) if silenced.unused else ()
        return in_order((*silenced.kept, *after))

    def _checking(self) -> tuple[Rule, ...]:
        return load(CHECK) if self._tiers is None else load(CHECK) + load(RUN)

    def check_all(self, machine: Machine) -> tuple[Diagnostic, ...]:
        """``check`` for the machine and everything it can call, each once: what a run wants to know first (L15)."""
        root = self.subject(machine)
        return tuple(found for facts in root.closure.reached.values() for found in self._about(facts, root))

    def check_callees(self, machine: Machine) -> tuple[Diagnostic, ...]:
        """The same without the machine itself."""
        root = self.subject(machine)
        called = [facts for facts in root.closure.reached.values() if facts.machine is not machine]
        return tuple(found for facts in called for found in self._about(facts, root))

    def _about(self, facts: Facts, root: Subject) -> tuple[Diagnostic, ...]:
        """What ``check`` finds in one of the machines that ``root`` reaches; no comment in it is looked at."""
        known = self._memory.checked.get(id(facts))
        if known is None:
            known = apply_rules(self._checking(), replace(root, facts=facts, source=None, suppressions=()))
            self._memory.checked[id(facts)] = known
        return known

    def subject(self, machine: Machine, source: Source | None = None) -> Subject:
        """The machine with what surrounds it."""
        facts = self.facts(machine)
        closure = Closure(facts, self._library, self.facts)
        suppressions = read_suppressions(source)
        return Subject(facts, closure, source=source, strict=self._strict, tiers=self._tiers, suppressions=suppressions)

    def facts(self, machine: Machine) -> Facts:
        """The facts about a machine, remembered as long as its memory lives."""
        return self._memory.facts.setdefault(id(machine), Facts(machine))


def check_machine(
    machine: Machine,
    *,
    library: Mapping[str, Machine] | None = None,
    source: Source | None = None,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Errors and warnings about one machine (L12-L14). Without a ``library`` nothing is said about its callees."""
    return Analyser(library, strict=strict).check(machine, source)


def lint_machine(
    machine: Machine,
    *,
    library: Mapping[str, Machine] | None = None,
    source: Source | None = None,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Everything that is known about one machine before a run: ``check`` and the findings of L16."""
    return Analyser(library, strict=strict).lint(machine, source)


def check_tiers(machine: Machine, tiers: Collection[Tier]) -> tuple[Diagnostic, ...]:
    """Only this: the tiers that the machine uses and the host has no model for (L12, E7)."""
    return apply_rules(load(RUN), Analyser(tiers=tiers).subject(machine))


def fails_strict(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether ``lint --strict`` fails on these: errors always, findings unless they are notes, warnings never (L18)."""
    strict = strict_codes()
    return any(
        found.severity is Severity.ERROR or (found.severity is Severity.WARNING and found.code in strict)
        for found in diagnostics
    )


def strict_codes() -> frozenset[str]:
    """The codes of findings that make ``lint --strict`` fail."""
    return frozenset(rule.code for rule in every() if rule.strict)


def apply_rules(rules: Iterable[Rule], subject: Subject) -> tuple[Diagnostic, ...]:
    """What these rules find. A part that is used twice through a YAML alias has its findings once."""
    path = subject.machine.source_name
    found: dict[tuple[str, Span | str, str], Diagnostic] = {}
    for rule in rules:
        for finding in rule.find(subject):
            spot = finding.spot
            key = (rule.code, spot.span or spot.where, finding.message)
            found.setdefault(key, _diagnostic(rule, finding, path))
    return in_order(found.values())


def _diagnostic(rule: Rule, finding: Finding, path: str) -> Diagnostic:
    return Diagnostic(
        code=rule.code,
        message=finding.message,
        path=path,
        span=finding.spot.span,
        where=finding.spot.where,
        severity=finding.severity or rule.severity,
        hint=finding.hint,
        fix=finding.fix,
    )
