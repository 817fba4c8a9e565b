"""The rules' pages for the documentation, made from their docstrings.

``python -m mklang.analysis.catalogue docs/rules`` writes them; a test keeps them equal.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from mklang.analysis.pages import read_page
from mklang.analysis.registry import AFTER, CHECK, LINT, RUN, Rule, load
from mklang.diagnostics import Severity
from mklang.lang.problems import PROBLEMS, Problem

_FAMILIES = {
    "targets": "Names that must lead somewhere",
    "paths": "Ways through the machine",
    "gates": "Gates of one state",
    "data": "The blackboard",
    "declarations": "Declared tools and hooks",
    "effects": "Tools that change the world",
    "calls": "Caller and callee",
    "versions": "Language versions",
    "text": "Text that YAML changes",
    "suppressions": "Comments to mklang",
}
_REPORTED = {
    "check": "`check` and `lint` report it",
    "lint": "`lint` reports it",
    "run": "`run` and `resume` report it before anything is spent",
}


def catalogue() -> Mapping[str, str]:
    """Every file of the catalogue by name: one page for each rule, and the list of them."""
    pages = {f"{rule.code}.md": _page(rule, command) for _, rule, command in _rules()}
    return {"index.md": _index(), "reading.md": _reading(), **pages}


def write(directory: Path) -> None:
    """Write the catalogue, and delete pages of rules that are gone."""
    directory.mkdir(parents=True, exist_ok=True)
    files = catalogue()
    for name, text in files.items():
        (directory / name).write_text(text, "utf-8")
    for page in directory.glob("*.md"):
        if page.name not in files:
            page.unlink()


def _rules() -> list[tuple[str, Rule, str]]:
    """Each rule with its family and the first command that applies it."""
    found = []
    for names, command in ((CHECK, "check"), (LINT + AFTER, "lint"), (RUN, "run")):
        found += [(name.split(".")[0], rule, command) for name, rule in zip(names, load(names), strict=True)]
    return found


def _page(rule: Rule, command: str) -> str:
    page = read_page(rule.page)
    what = f"\n{_prose(page.what)}\n" if page.what else ""
    fix = "An automatic fix is safe." if page.safe else "No automatic fix is safe."
    return f"""# {rule.code}

{_prose(page.summary)}

{_kind(rule, command)} It follows from {rule.basis}.
{what}
**Why it matters.** {_prose(page.why)}

## Fires

```yaml
{page.fires}
```

## Repaired

```yaml
{page.repaired}
```

## Fix

{fix} {_prose(page.fix)}
"""


def _kind(rule: Rule, command: str) -> str:
    reported = _REPORTED[command]
    if rule.severity is Severity.ERROR:
        return f"An **error**: {reported}, and the machine is not run."
    if rule.severity is Severity.NOTE:
        return f"A **note**: {reported}, and it never makes a command fail."
    strict = "it makes `lint --strict` fail" if rule.strict else "it never makes a command fail"
    return f"A **warning**: {reported}, and {strict}."


def _index() -> str:
    lines = [
        "# What `check` and `lint` find",
        "",
        "Every problem has a permanent code. An error keeps a machine from being run; a warning of `check` is",
        "something a run may well meet; `lint` adds what is valid and suspicious, and notes. Examples leave out the",
        "top-level keys that do not matter; behind `---` stands a machine that they call. `mklang explain CODE` shows",
        "a page in the terminal. The headings are families; `--select` and `--ignore` take their names, in brackets",
        "here, as well as codes. These pages are made from the rules' own docstrings by",
        "`python -m mklang.analysis.catalogue docs/rules`.",
        "",
        "What can be wrong with a document before it is a machine stands on [one page](reading.md) (`reading`).",
    ]
    for family, title in _FAMILIES.items():
        lines += ["", f"## {title} (`{family}`)", "", "| code | | command | what it finds |", "|---|---|---|---|"]
        lines += [
            f"| [`{rule.code}`]({rule.code}.md) | {rule.severity.value} | {command} "
            f"| {_prose(read_page(rule.page).summary)} |"
            for of, rule, command in _rules()
            if of == family
        ]
    return "\n".join(lines) + "\n"


def _reading() -> str:
    lines = [
        "# What can be wrong with a document before it is a machine",
        "",
        "Every command that reads a machine reports these. They are errors unless the text says otherwise.",
    ]
    for code, problem in PROBLEMS.items():
        lines += ["", f"## {code}", "", *_problem(problem)]
    return "\n".join(lines) + "\n"


def _problem(problem: Problem) -> list[str]:
    lines = [f"{problem.summary} {problem.help}"]
    if problem.wrong:
        lines += ["", "```yaml", f"{problem.wrong}  # wrong", f"{problem.right}  # right", "```"]
    return [*lines, "", f"`--fix` {problem.fix}."] if problem.fix else lines


def _prose(text: str) -> str:
    """Docstring prose as Markdown: one line to a paragraph, a capital to begin with."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    joined = "\n\n".join(paragraphs).replace("``", "`")
    return joined[:1].upper() + joined[1:]


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/rules"))
