"""Our own package under our own audit: no unguarded way from a model to a file, one writer of layer 3, one opener."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mklang.host.auditing import Looking
from mklang.host.auditing_python import PythonLooking, audited

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/mklang/knowledge"
pytestmark = pytest.mark.rule("S50", "S49")


def findings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    monkeypatch.chdir(folder)
    report = audited(("src", "examples"), Looking(), PythonLooking(cached=False), described=False)
    assert report.python is not None
    assert report.problems == ()
    return [f"{found.code} {found.path}" for found in report.findings], report.python.sources


def copied(folder: Path) -> Path:
    for part in ("src/mklang/knowledge", "src/mklang/patterns", "examples/minimal_harness"):
        shutil.copytree(ROOT / part, folder / part)
    for file in ("pyproject.toml", "src/mklang/__init__.py"):
        shutil.copy(ROOT / file, folder / file)
    return folder


def test_no_model_output_reaches_a_file_unguarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, sources = findings(copied(tmp_path), monkeypatch)
    assert found == []
    assert sources >= 3  # the audit has seen who asks: silence is not blindness


BREACHES = {
    "a stage is asked behind the orchestrator's back": (
        "src/mklang/knowledge/asking.py",
        "    report = await orchestrator.run([Task(guard.name, inputs)], str(journal))",
        "    reply = await stage.worker(inputs)\n    open('knowledge.json', 'w').write(reply)\n"
        "    report = await orchestrator.run([Task(guard.name, inputs)], str(journal))",
    ),
    "a reply becomes a rule": (
        "src/mklang/knowledge/asking.py",
        "    report = await orchestrator.run([Task(guard.name, inputs)], str(journal))",
        "    reply = await stage.worker(inputs)\n    open('CLAUDE.md', 'a').write(reply)\n"
        "    report = await orchestrator.run([Task(guard.name, inputs)], str(journal))",
    ),
    "the loop forgets its guard": (
        "src/mklang/patterns/orchestrator.py",
        "                found = self.guard.examine(reply) if isinstance(reply, str) else ()",
        "                found = ()\n                open('result.json', 'w').write(str(reply))",
    ),
}


@pytest.mark.parametrize(("file", "old", "new"), BREACHES.values(), ids=list(BREACHES))
def test_a_breach_would_be_found(
    file: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(tmp_path) / file
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    found, _ = findings(tmp_path, monkeypatch)
    assert [one.partition(" ")[2] for one in found] == [file]


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


WRITES = re.compile(
    r"(^|\.)(write_text|write_bytes|mkstemp|ftruncate|truncate|write_checked)$|^os\.(open|write|replace|rename)$"
)


def test_files_are_opened_for_writing_in_one_module_and_the_log() -> None:
    writers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(WRITES.search(call) for call in calls(ast.parse(path.read_text())))
    }
    # review: the copy that a person edits, in a scratch folder
    assert writers == {"files.py", "review.py"}


def test_only_the_approval_writes_layer_three() -> None:
    callers = {
        path.name: list(calls(ast.parse(path.read_text()))).count("write_behaviour")
        for folder in (PACKAGE, ROOT / "src/mklang/cli/akc", ROOT / "src/mklang/host")
        for path in folder.rglob("*.py")
        if "write_behaviour" in path.read_text()
    }
    assert callers == {"approval.py": 1}
    tree = ast.parse((PACKAGE / "approval.py").read_text())
    (owner,) = (
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and "write_behaviour" in list(calls(node))
    )
    assert owner == "_approve"


def test_replacing_a_file_of_the_project_is_for_the_approval_alone() -> None:
    """Everything else that replaces a file names one inside the cycle's own folder."""
    targets = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "replace_file":
                targets.setdefault(path.name, set()).add(ast.unparse(node.args[0]))
    assert targets.pop("approval.py") == {"path"}
    inside = {
        "self.home.knowledge",
        "home.operations",
        "home.knowledge",
        "file",
        "kept",
        "ledger_of(home)",
        "hidden / NEW",
    }
    inside |= {"hidden / DIFF", "hidden / META"}
    assert set().union(*targets.values()) <= inside
