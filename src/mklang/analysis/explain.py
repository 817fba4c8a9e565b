"""What a code means: one shape for the rules' pages and for the problems of reading, whoever explains them."""

from __future__ import annotations

from dataclasses import dataclass

from mklang.analysis.codes import FAMILY_OF, READING
from mklang.analysis.pages import read_page
from mklang.analysis.registry import Rule, every
from mklang.analysis.selection import unknown_code
from mklang.errors import UsageError
from mklang.lang.problems import PROBLEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything there is to say about a code. Texts are prose with ``code`` between double backticks, or empty."""

    code: str
    family: str
    severity: str
    summary: str
    more: str
    why: str = ""
    fires: str = ""
    repaired: str = ""
    fix: str = ""
    basis: str = ""

    def to_wire(self) -> dict[str, str]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


def explain(code: str) -> Explanation:
    """What a code means; raises ``UsageError`` for one that does not exist."""
    if code in PROBLEMS:
        return _of_reading(code)
    rule = next((rule for rule in every() if rule.code == code), None)
    if rule is None:
        raise UsageError(unknown_code(code))
    return _of_rule(rule)


def explain_all() -> tuple[Explanation, ...]:
    """Every code, family by family."""
    rules = [_of_rule(rule) for rule in every()]
    found = [*(_of_reading(code) for code in PROBLEMS), *sorted(rules, key=lambda one: one.family)]
    return tuple(found)


def _of_reading(code: str) -> Explanation:
    problem = PROBLEMS[code]
    return Explanation(
        code=code,
        family=READING,
        severity="error",
        summary=problem.summary,
        more=problem.help,
        fires=problem.wrong,
        repaired=problem.right,
        fix=f"'--fix' {problem.fix}." if problem.fix else "",
    )


def _of_rule(rule: Rule) -> Explanation:
    page = read_page(rule.page)
    return Explanation(
        code=rule.code,
        family=FAMILY_OF[rule.code],
        severity=rule.severity.value,
        summary=page.summary,
        more=page.what,
        why=page.why,
        fires=page.fires,
        repaired=page.repaired,
        fix=("'--fix' does it: " if page.safe else "By hand: ") + page.fix[:1].lower() + page.fix[1:],
        basis=rule.basis,
    )
