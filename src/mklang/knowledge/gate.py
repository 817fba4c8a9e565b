"""The gate for agents: a direct write to rules, control or evidence files is refused, and the way of a proposal shown.

It reads what an agent is about to do, as its hook hands it over, and says no or nothing. What cannot be read is
refused, never let through. A shell can hide a path in a variable; the git hook looks at what really changed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from mklang.stakes import Stake, stake_of

_READERS = frozenset(
    [
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ls",
        "wc",
        "diff",
        "cmp",
        "stat",
        "file",
        "echo",
        "printf",
        "test",
        "[",
        "true",
        "false",
        "pwd",
        "cd",
        "which",
        "type",
        "sort",
        "uniq",
        "cut",
        "tr",
        "nl",
        "od",
        "xxd",
        "md5sum",
        "sha256sum",
        "tree",
        "du",
        "jq",
        "yq",
        "column",
        "basename",
        "dirname",
        "realpath",
        "readlink",
    ]
)
_GIT_READERS = frozenset(
    [
        "diff",
        "log",
        "show",
        "status",
        "blame",
        "grep",
        "ls-files",
        "rev-parse",
        "add",
        "commit",
        "branch",
        "fetch",
        "push",
        "describe",
    ]
)
_WRITERS = frozenset(
    [
        "tee",
        "cp",
        "mv",
        "ln",
        "install",
        "rsync",
        "rm",
        "rmdir",
        "unlink",
        "truncate",
        "dd",
        "touch",
        "chmod",
        "chown",
        "patch",
        "ed",
        "ex",
        "vi",
        "vim",
        "nano",
        "emacs",
        "sponge",
        "shred",
        "split",
    ]
)
_SHELLS = frozenset(["bash", "sh", "zsh", "dash", "ksh", "fish", "eval"])
_RUNNERS = frozenset(["python", "python3", "node", "ruby", "perl", "php", "ssh", "sudo", "env", "xargs"])
_HERE = re.compile(
    r"(?P<line>[^\n]*?)<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]*)\n.*?\n[ \t]*(?P=end)(?=\n|$)",
    re.DOTALL,
)
_SCRIPTED = frozenset({"-c", "-e", "--eval", "-lc", "-ic"})
_MARKS = ";()<>|&\n"
_PIECES = re.compile(r"&?[<>]+[|&]?(?!\()|[<>]+(?=\()|[;&|()\n]+?")
_PATHS = ("file_path", "notebook_path", "path", "target", "target_file", "filename", "destination", "uri", "filePath")
_LOOKS = re.compile(
    r"^(?:read|view|get|list|ls|glob|grep|search|find|fetch|cat|open|stat|lsp|task|todo)", re.IGNORECASE
)
_CHANGES = re.compile(
    r"write|edit|create|delete|remove|update|move|rename|save|patch|append|apply|put|set_", re.IGNORECASE
)
_COMMANDS = ("command", "cmd")
_CODE = ("script", "code")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?|--- (?:a/)?|\*\*\* Move to: )(.+)$", re.M
)
_WORD = re.compile(r"[\w./~@+-]+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an agent's act is refused: the file and what it holds, in words for the agent."""

    target: str
    stake: str

    def __str__(self) -> str:
        if self.stake == "decision":
            return "Deciding on proposals is for a person at a terminal of their own."
        if self.stake == "checks":
            return f"{self.target} leaves out the checks of a commit, which an agent does not do."
        return (
            f"{self.target} holds {self.stake}: an agent does not write it directly. Put the change up for a person: "
            f"mklang akc propose {shlex.quote(self.target)} --file NEW_TEXT --why REASON"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentGate:
    """The gate of a project. ``stakes`` are what is guarded; ``open_`` are globs of paths that agents may write."""

    project: Path
    home: Path
    stakes: frozenset[str] = frozenset({"behaviour", "control", "evidence"})
    open_: tuple[str, ...] = ()

    def refuse(self, event: Mapping[str, Any]) -> Refusal | None:
        """Why the act of a hook's event is refused; None when it is not. Raises ``ValueError`` for no such event."""
        name, given = event.get("tool_name"), event.get("tool_input")
        if not isinstance(name, str) or not isinstance(given, dict):
            raise ValueError("a hook's event has a 'tool_name' and a map 'tool_input'")
        cwd = Path(str(event.get("cwd") or self.project))
        for words in (_WORD.findall(given[key]) for key in _CODE if isinstance(given.get(key), str)):
            refusal = next((one for word in words for one in self._guarded(word, cwd)), None)
            if refusal is not None:
                return refusal
        for key in _COMMANDS:
            command = given.get(key)
            if isinstance(command, list):
                command = shlex.join(str(part) for part in command)
            if command is not None and not isinstance(command, str):
                raise ValueError(f"'{key}' is a command, so a text or a list of texts")
            refusal = next(self._in_shell(command, cwd), None) if command and not _is_patch(command) else None
            if refusal is not None:
                return refusal
        return next(self._in_tool(name, given, cwd), None)

    def _in_tool(self, name: str, given: Mapping[str, Any], cwd: Path) -> Iterator[Refusal]:
        word = name.rsplit("__", 1)[-1]
        if _LOOKS.match(word) and not _CHANGES.search(word):
            return
        if any(key in _PATHS and not isinstance(value, str) for key, value in given.items()):
            raise ValueError("a path is a text")
        for value in _strings(given):
            if _is_patch(value):
                for path in _PATCHED.findall(value):
                    yield from self._guarded(path.strip(), cwd)
        for path in (value for key, value in _pairs(given) if key in _PATHS):
            yield from self._guarded(path.removeprefix("file://"), cwd)

    def _in_shell(self, command: str, cwd: Path) -> Iterator[Refusal]:
        try:
            tokens = list(_tokens(_HERE.sub(_without_text, command)))
        except ValueError:
            for word in _WORD.findall(command):
                yield from self._guarded(word, cwd)
            return
        for words in _commands(tokens, command):
            if words[:1] == ["cd"] and len(words) > 1:
                cwd = Path(os.path.normpath(cwd / os.path.expanduser(words[1])))  # noqa: PTH111 - a text of a shell
                continue
            yield from self._in_command(words, cwd)

    def _in_command(self, words: Sequence[str], cwd: Path) -> Iterator[Refusal]:
        plain: list[str] = []
        rest = iter(words)
        for word in rest:
            if not word.strip("<>&|"):
                target = next(rest, "")
                yield from self._guarded(target if ">" in word else "", cwd)
            else:
                plain.append(word)
        while plain and (("=" in plain[0] and "/" not in plain[0].split("=")[0]) or plain[0] in _PREFIXES):
            plain = plain[1:]
        if not plain:
            return
        yield from self._in_program(Path(plain[0]).name, plain[1:], cwd)

    def _in_program(self, program: str, arguments: list[str], cwd: Path) -> Iterator[Refusal]:
        if "akc" in arguments:
            if "review" in arguments and "--list" not in arguments:
                yield Refusal("", "decision")
            if program == "mklang" or "mklang" in arguments or "mklang.cli.main" in arguments:
                return  # proposing is the way that is meant
        if program == "git" and ("--no-verify" in arguments or {"commit", "-n"} <= set(arguments)):
            yield Refusal("git commit --no-verify", "checks")
        script = next((after for word, after in pairwise(arguments) if word in _SCRIPTED), None)
        if program in _SHELLS and (script or program == "eval"):
            yield from self._in_shell(script or " ".join(arguments), cwd)
        elif script is not None:
            for word in _WORD.findall(script):
                yield from self._guarded(word, cwd)
        elif not _only_reads(program, arguments):
            writes = program in _WRITERS or program in {"git", "find", "xargs"} or _in_place(arguments)
            for part in dict.fromkeys(part for word in arguments for part in (word, word.rpartition("=")[2])):
                yield from (one for one in self._guarded(part, cwd) if writes or one.stake != "evidence")

    def _guarded(self, text: str, cwd: Path) -> Iterator[Refusal]:
        """A refusal when a path, as written, as a pattern, or where its links lead, holds what is guarded."""
        if not text or text.startswith("-"):
            return
        if "\0" in text:
            raise ValueError("a path holds a NUL")
        meant = [Path(os.path.normpath(cwd / os.path.expanduser(one))) for one in _unbraced(text)]  # noqa: PTH111 - a text of a shell
        for path in dict.fromkeys(path for one in meant for found in (one, *_globbed(one)) for path in _ways(found)):
            stake = self.stake(path)
            if stake in self.stakes:
                shown = path.relative_to(self.project) if path.is_relative_to(self.project) else path
                yield Refusal(str(shown), stake)

    def stake(self, path: Path) -> str:
        """What a path holds, as a word."""
        if path == self.home or path.is_relative_to(self.home):
            return "control"
        relative = str(path.relative_to(self.project)) if path.is_relative_to(self.project) else str(path)
        if self.open_ and stake_of(relative, {Stake.LOG: self.open_}) is Stake.LOG:
            return "open"
        return stake_of(relative).name.lower()


_PREFIXES = frozenset({"sudo", "env", "command", "nohup", "time", "exec", "then", "do", "else", "{", "!", "builtin"})


def _only_reads(program: str, arguments: Sequence[str]) -> bool:
    if program == "git":
        return next((word for word in arguments if not word.startswith("-")), "") in _GIT_READERS
    return program in _READERS or (program in {"sed", "perl", "awk", "gawk"} and not _in_place(arguments))


def _in_place(arguments: Iterable[str]) -> bool:
    return any(re.match(r"^-[a-zA-Z]*i|^--in-place|^--write$|^--fix$|^-o$|^--output", word) for word in arguments)


def _without_text(found: re.Match[str]) -> str:
    """A here-document without its text, unless what reads it runs it."""
    programs = {Path(word).name for word in _WORD.findall(found["line"] + found["rest"])}
    return found[0] if programs & (_SHELLS | _RUNNERS) else f"{found['line']}{found['rest']}\n"


def _tokens(command: str) -> Iterator[str]:
    """The words of a line and its marks, each operator and redirection by itself. A line ending ends a command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_MARKS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    for token in lexer:
        if token and not token.strip(_MARKS):
            yield from _PIECES.findall(token)
        else:
            yield token


def _commands(tokens: Iterable[str], command: str) -> Iterator[list[str]]:
    """The simple commands of a line, also those in brackets and backquotes. What stands behind a bracket goes on with
    the command that it was opened in."""
    words: list[str] = []
    outer: list[list[str]] = []
    for part in tokens:
        if not part or part.strip(";&|()\n"):
            words.append(part)
        elif part == "(":
            outer.append(words)
            words = []
        else:
            if words:
                yield words
            words = outer.pop() if part == ")" and outer else []
    yield from (left for left in (words, *outer) if left)
    for inner in re.findall(r"`([^`]+)`", command):
        yield inner.split()


def _is_patch(text: str) -> bool:
    return "*** Begin Patch" in text or (text.startswith(("--- ", "diff ")) and "\n+++ " in text)


def _pairs(value: Any) -> Iterator[tuple[str, str]]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for key, inner in part.items():
                if isinstance(inner, str):
                    yield key, inner
                else:
                    waiting.append(inner)
        elif isinstance(part, list):
            waiting += part


def _strings(value: Any) -> Iterator[str]:
    return (text for _, text in _pairs(value))


def _unbraced(text: str) -> list[str]:
    """A word with its first braces written out, as a shell does."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", text)
    if not found:
        return [text]
    return [f"{text[: found.start()]}{part}{text[found.end() :]}" for part in found[1].split(",")]


def _globbed(path: Path) -> list[Path]:
    """What is there of a pattern."""
    if not re.search(r"[*?\[]", str(path)):
        return []
    try:
        return list(islice(Path(path.anchor).glob(str(path.relative_to(path.anchor))), 500))
    except (OSError, ValueError, NotImplementedError):
        return []


def _ways(path: Path) -> tuple[Path, ...]:
    """A path as it is written, and where its links lead."""
    try:
        return path, path.resolve()
    except (OSError, RuntimeError):
        return (path,)
