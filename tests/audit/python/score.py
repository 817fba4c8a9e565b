"""How well the audit does on the cases: ``python -m tests.audit.python.score``.

A comment ``# find CODE`` says that this line must be found with that code. Anything else that is found is a false
alarm. A case is a file, or a folder of files that belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mklang.audit.python import audit_python

CASES = Path(__file__).parent / "cases"
_EXPECTED = re.compile(r"# find (AK\d+)")
Place = tuple[str, int, str]


@dataclass(frozen=True)
class Score:
    """One case: what had to be found, and what was."""

    name: str
    expected: frozenset[Place]
    found: frozenset[Place]

    @property
    def missed(self) -> frozenset[Place]:
        return self.expected - self.found

    @property
    def false(self) -> frozenset[Place]:
        return self.found - self.expected


def cases() -> list[Path]:
    return sorted(one for one in CASES.iterdir() if one.suffix == ".py" or (one.is_dir() and one.name[0] != "_"))


def expected_in(case: Path) -> Iterator[Place]:
    for file in [case] if case.is_file() else sorted(case.rglob("*.py")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            for match in _EXPECTED.finditer(line):
                yield file.name, number, match.group(1)


def score(case: Path) -> Score:
    report = audit_python([str(case)])
    found = frozenset((Path(one.path).name, one.line, one.code) for one in report.findings)
    return Score(case.name, frozenset(expected_in(case)), found)


def main() -> None:
    scores = [score(case) for case in cases()]
    wanted = sum(len(one.expected) for one in scores)
    missed = sum(len(one.missed) for one in scores)
    found = sum(len(one.found) for one in scores)
    false = sum(len(one.false) for one in scores)
    for one in scores:
        for what, places in (("missed", one.missed), ("false alarm", one.false)):
            for file, line, code in sorted(places):
                print(f"{one.name}: {what}: {file}:{line} {code}")
    print(
        f"{len(scores)} cases, {wanted} expected findings: recall {1 - missed / wanted:.1%}, "
        f"false alarms {false / max(found, 1):.1%} ({missed} missed, {false} false)"
    )


if __name__ == "__main__":
    main()
