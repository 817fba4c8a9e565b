"""Every page a reader follows is played from top to bottom (house style 24)."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from mklang.cli.main import COMMANDS, cli, main
from mklang.host.config import read_config
from mklang.host.paths import runs_folder
from mklang.lang.reader import machine_from_text
from mklang.source import Source
from mklang.testing.reading import read_scenarios
from tests.cli.scripted_models import Scripted, answer_with
from tests.docs.pages import ROOT, Block, Call, answers, blocks, fits, normal

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
    *sorted((ROOT / "docs/machines").glob("*.md")),
    *(
        ROOT / f"docs/guides/{name}.md"
        for name in ("long-lists", "approval", "ci", "when-a-run-stops", "tools", "configuration", "embedding")
    ),
    *(ROOT / f"docs/explanation/{name}.md" for name in ("trust", "durability", "comparison")),
    ROOT / "docs/index.md",
]
NOT_PLAYED = {"make", "pip", "git", "cd", "eval", "python", "export", "cat", "ls"}
"""Programs whose commands are tested elsewhere (tests/newcomer.sh) or are not ours."""
CHANGES = {"RUN", "FILE", "…"}


class InTurn(Scripted):
    """A model and a judge whose answers for a state may be a list, one for each visit."""

    async def produce(self, request, **rest):  # type: ignore[no-untyped-def]
        told = self.texts[request.state]
        if isinstance(told, list):
            self.texts = {**self.texts, request.state: told[1:] if len(told) > 1 else told[0]}
            return await Scripted({request.state: told[0]}, {}).produce(request, **rest)
        return await super().produce(request, **rest)

    async def judge(self, request):  # type: ignore[no-untyped-def]
        told = self.verdicts[request.state]
        if isinstance(told, list):
            self.verdicts = {**self.verdicts, request.state: told[1:] if len(told) > 1 else told[0]}
            return await Scripted({}, {request.state: told[0]}).judge(request)
        return await super().judge(request)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"MKLANG_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setattr("tests.cli.scripted_models.Scripted", InTurn)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_can_be_followed(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {}
    wrong: list[str] = []
    for block in blocks(page):
        match block.kind:
            case "says":
                answer_with(monkeypatch, *answers(block.text))  # type: ignore[arg-type]
            case "console":
                wrong += [problem for call in block.calls if (problem := play(call, page))]
            case "python":
                exec(compile(block.text, str(page), "exec"), names)
            case "yaml" | "json" | "text" | "markdown" if block.title:
                Path(block.title).parent.mkdir(parents=True, exist_ok=True)
                Path(block.title).write_text(block.text, "utf-8")
            case "yaml":
                wrong += problems(block)
    assert wrong == []


OTHERS = sorted(
    {*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")}
    - {*PAGES, *(ROOT / "docs/rules").glob("*.md")}  # each rule's examples are run where the rules are tested
)
"""Pages with tests of their own, or with nothing to play: what they show is at least understood."""


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_other_pages_show_is_understood(page: Path) -> None:
    wrong = []
    for block in blocks(page):
        wrong += [told for call in block.calls if call.line.startswith("mklang ") and (told := understood(call))]
        if block.kind == "yaml" and re.search(r"^machine:.*^states:", block.text, re.MULTILINE | re.DOTALL):
            wrong += problems(block)
    assert wrong == []


def play(call: Call, page: Path) -> str:
    """Run a command of a page; what is wrong with it, or nothing."""
    if call.program in NOT_PLAYED:
        return ""
    if call.program != "mklang":
        return f"{call.line}: is no command of ours"
    if page.parent.name == "machines" or (call.shown is None and CHANGES & set(re.findall(r"RUN|FILE|…", call.line))):
        return understood(call)
    run = max((path.stem for path in runs_folder().glob("*.jsonl")), key=_age, default="none")
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = main(call.arguments(run))
    shown = call.shown
    if shown is None:
        return f"{call.line}: exit {code}\n{told.getvalue()}" if code == 2 else ""
    return "" if fits(shown, told.getvalue()) else f"$ {call.line}\n{normal(told.getvalue())}"


def _age(name: str) -> float:
    return (runs_folder() / f"{name}.jsonl").stat().st_mtime_ns


def understood(call: Call) -> str:
    """Whether the program knows the command and its options, without running it."""
    words = call.words
    name, *arguments = words[1 : words.index("|") if "|" in words else None]
    parent = click.Context(cli, info_name="mklang", **cli.context_settings)
    try:
        command = import_module(COMMANDS[name].module).command
        command.make_context(name, list(arguments), parent=parent)
    except (click.ClickException, KeyError) as error:
        return f"{call.line}: {error}"
    return ""


def problems(block: Block) -> list[str]:
    """A document that a page shows must be one that mklang reads without a word."""
    text = block.text
    if re.search(r"^machine:", text, re.MULTILINE):
        machine_from_text(text)
        return []
    if text.startswith("scenarios:"):
        return [found.render() for found in read_scenarios(Source("page", text)).diagnostics]
    if re.search(r"^(active|providers):", text, re.MULTILINE):
        Path("page.yaml").write_text(text, "utf-8")
        return [found.render() for found in read_config("page.yaml").warnings]
    if re.search(r"^guard:", text, re.MULTILINE):
        Path("page.guard.yaml").write_text(text, "utf-8")
        return [] if main(["guard", "lint", "page.guard.yaml"]) == 0 else ["the guard has mistakes"]
    return [f"a block that is no document and has no title: {text[:60]!r}"]


def test_generated_pages_are_what_the_code_says() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from make_pages import pages
    finally:
        sys.path.pop(0)
    for name, text in pages().items():
        assert (ROOT / "docs" / name).read_text("utf-8") == text, f"run scripts/make_pages.py: {name}"


def test_every_page_is_in_the_site_and_every_link_leads_somewhere() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "skills" not in path.parts]
    missing = []
    for page in [*pages, ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not target.startswith(("http", "mailto:")) and not (page.parent / target).exists():
                missing.append(f"{page.relative_to(ROOT)}: {target}")
    assert missing == []


def test_the_environment_is_left_alone() -> None:
    assert "MKLANG_CONFIG" not in os.environ
