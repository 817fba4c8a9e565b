"""What an agent loads: rule files and skills of a project, read as text, with what they refer to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ALWAYS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".claude/rules/**/*.md", ".cursor/rules/**/*")
"""Loaded into every session: each line is paid for each time."""
SOMETIMES = (".claude/skills/**/*.md", "skills/**/*.md", ".claude/agents/**/*.md", ".claude/commands/**/*.md")
"""Loaded when they are called for."""
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_CODE = re.compile(r"`([^`\n]+)`")
_RUN = re.compile(r"\b(?:bash|sh|python3?|node|ruby)\s+((?:\.{0,2}/)?[\w./-]+\.(?:sh|py|js|ts|rb))\b")
_MODULE = re.compile(r"\bpython3? -m ([A-Za-z_][\w.]*)")
_FILE = re.compile(r"(?:\.{1,2}/)?[\w.-]+(?:/[\w.-]+)+\.\w{1,8}|(?:\.{1,2}/)?(?:[\w.-]+/)+")
_NAME = re.compile(r"^name:\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file that steers. ``path`` is from the project; ``always`` when every session loads it; ``outside`` when its
    links lead out of the project."""

    path: str
    text: str
    always: bool
    outside: bool = False

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())

    @property
    def name(self) -> str:
        """The name in its front matter; empty without."""
        head = self.text.partition("\n---")[0] if self.text.startswith("---") else ""
        found = _NAME.search(head)
        return found[1].strip("'\"") if found else ""


def loaded_files(project: Path, extra: Sequence[str] = ()) -> list[LoadedFile]:
    """The rule files and skills of a project, in order; ``extra`` are further ones, loaded always."""
    found: dict[str, LoadedFile] = {}
    for always, globs in ((True, (*ALWAYS, *extra)), (False, SOMETIMES)):
        for glob in globs:
            for path in sorted(project.glob(glob)):
                name = path.relative_to(project).as_posix()
                if path.is_file() and name not in found:
                    outside = not path.resolve().is_relative_to(project.resolve())
                    found[name] = LoadedFile(name, path.read_text("utf-8", "replace"), always, outside)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Reference:
    """Something a file refers to: a path, or a module that it runs. ``sure`` when it can be nothing else."""

    line: int
    text: str
    sure: bool
    module: bool = False


def references(text: str) -> Iterator[Reference]:
    """What a text refers to in this project, as far as code can tell; addresses elsewhere are left out."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        for target in _LINK.findall(line):
            if "://" not in target and not target.startswith(("#", "mailto:")):
                yield Reference(number, target.partition("#")[0], True)
        for target in _RUN.findall(line):
            yield Reference(number, target, True)
        for module in _MODULE.findall(line):
            yield Reference(number, module, False, module=True)
        for code in () if fenced else _CODE.findall(line):
            if _FILE.fullmatch(code) and "*" not in code:
                yield Reference(number, code, False)


def resolve(project: Path, file: LoadedFile, reference: Reference) -> Path | None:
    """Where a reference leads, from the file or from the project; None when nothing is there."""
    if reference.module:
        return _module(project, reference.text)
    for base in (project / Path(file.path).parent, project):
        path = base / reference.text.lstrip("/") if reference.text.startswith("/") else base / reference.text
        if path.exists():
            return path
    return None


def _module(project: Path, name: str) -> Path | None:
    for base in (project, project / "src"):
        path = base.joinpath(*name.split("."))
        for one in (path.with_suffix(".py"), path / "__init__.py", path):
            if one.exists():
                return one
    return None
