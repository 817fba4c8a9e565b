"""What a rule is, and the list of all rules. A rule is one file: one function, one permanent code, one page.

The rules are named in a table, not found by searching, and imported only when a command needs them: ``check`` does not
pay for ``lint``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from mklang.analysis.spots import Spot
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.source import Fix


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found, and where. ``severity`` replaces the rule's own for this one finding, ``fix`` is safe."""

    spot: Spot
    message: str
    hint: str = ""
    severity: Severity | None = None
    fix: Fix | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that can be wrong with a machine.

    ``code`` is permanent. ``basis`` names the language rules it follows from. ``strict`` says whether a finding, unless
    it is a note, makes ``lint --strict`` fail (L18). ``page`` is the module's docstring, see ``pages``.
    """

    code: str
    severity: Severity
    find: Callable[[Subject], Iterator[Finding]]
    basis: str
    page: str
    strict: bool = False


CHECK = (
    "targets.entry_unknown",
    "targets.target_unknown",
    "targets.callee_unknown",
    "paths.end_unreachable",
    "paths.budget_infeasible",
    "paths.budget_tight",
    "paths.budget_fan_out",
    "paths.fan_out_too_wide",
    "paths.state_unreachable",
    "paths.dead_end",
    "paths.visits_below_repairs",
    "gates.otherwise_missing",
    "gates.repairs_only",
    "gates.repair_to_end",
    "gates.hook_malformed",
    "data.result_unknown",
    "data.over_not_list",
    "declarations.hook_undeclared",
    "declarations.tool_undeclared",
    "calls.call_endless",
    "versions.version_unsupported",
    "versions.version_feature",
)
"""The rules of ``check``: errors, and warnings about what a run may well meet (L12-L14)."""

LINT = (
    "paths.loop_judged",
    "paths.route_over_budget",
    "gates.otherwise_not_last",
    "gates.otherwise_repair",
    "gates.condition_repeated",
    "gates.repair_unseen",
    "gates.escalate_judged",
    "gates.ask_unused",
    "gates.hook_ignored",
    "data.context_unread",
    "data.output_unread",
    "data.output_overwritten",
    "data.placeholder_unknown",
    "data.placeholder_early",
    "data.placeholder_literal",
    "data.placeholder_malformed",
    "data.path_unknown",
    "data.path_into_text",
    "data.branch_variable_outside",
    "data.branch_variable_shadowed",
    "data.hook_key_unknown",
    "declarations.declaration_unused",
    "effects.effect_judged",
    "effects.effect_in_callee",
    "calls.input_unread",
    "calls.input_missing",
    "versions.version_missing",
    "text.text_cut",
    "text.backslash_literal",
    "text.number_shortened",
    "suppressions.suppression_malformed",
    "suppressions.suppression_unexplained",
    "suppressions.suppression_unknown",
)
"""The rules that ``lint`` adds: what is valid and suspicious (L16)."""

AFTER = ("suppressions.suppression_unused",)
"""The rules of ``lint`` that look at what the others found."""


RUN = ("targets.tier_missing",)
"""The rules that need to know what the host has configured (L12, E7)."""


@cache
def load(names: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules of a table, imported now."""
    return tuple([_rule(name) for name in names])


def every() -> tuple[Rule, ...]:
    """All rules there are."""
    return load(CHECK) + load(LINT) + load(AFTER) + load(RUN)


def _rule(name: str) -> Rule:
    rule: Rule = import_module(f"mklang.analysis.rules.{name}").RULE
    return rule
