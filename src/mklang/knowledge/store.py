"""Layer 2 on disk: operations are appended under a lock, ``knowledge.json`` is derived from them.

What cannot be read, is not in order or holds what is forbidden seals the store: it reads as empty, every write raises,
and no file is touched until a person has looked (``akc doctor``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from mklang.errors import KnowledgeError, Sealed, UsageError
from mklang.guards import Checked, Guard
from mklang.knowledge.files import append_lines, locked, open_plain, read_plain, replace_file
from mklang.knowledge.home import Clock, Home, seconds_stamp
from mklang.knowledge.operations import (
    Act,
    Acted,
    Adopted,
    Basis,
    Distilled,
    Exported,
    Found,
    Operation,
    State,
    decode_operation,
    encode_operation,
)
from mklang.knowledge.patterns import Pattern
from mklang.knowledge.schemas import ForbiddenTexts, found_guard, knowledge_guard
from mklang.knowledge.store_files import aside

LIMIT = 256 * 1024 * 1024
T = TypeVar("T")


class KnowledgeStore:
    """The patterns of a home. Every door takes what a guard has checked; a plain text is a ``TypeError``.

    ``forbid`` is the operator's list: it holds when something is added and whenever the store is read.
    """

    def __init__(self, home: Home, clock: Clock, *, forbid: ForbiddenTexts = (), per_item: bool = False) -> None:
        self.home = home
        self._clock = clock
        self._entries = tuple(forbid)
        self.guard = found_guard(self._entries, per_item=per_item)
        self._on_load = knowledge_guard(self._entries)
        self.sealed: tuple[str, ...] = ()
        self.foreign = False
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self._read_to = 0
        self._inode = 0
        self._state = State()
        self._vetted: set[str] = set()
        self._broken: list[str] = []
        self._derived: tuple[int, ...] = ()

    @property
    def state(self) -> State:
        """What the operations amount to; nothing while the store is sealed."""
        return State() if self.sealed else self._state

    @property
    def patterns(self) -> list[Pattern]:
        """Every pattern, in the order in which they were first found; none while the store is sealed."""
        return list(self.state.patterns.values())

    def now(self) -> datetime:
        """The store's time."""
        return self._clock()

    def require_open(self) -> None:
        """Raises ``Sealed`` unless something can be kept."""
        self.refresh()
        if self.sealed:
            raise Sealed(f"the knowledge in {self.home.root} is sealed: {self.sealed[0]}; see 'mklang akc doctor'")

    def refresh(self) -> None:
        """Read what is on disk now. Never raises for what is in it: that seals the store."""
        try:
            problems = self._read()
        except (KnowledgeError, ValueError) as error:
            problems = [str(error)]
        self.sealed = tuple(problems)

    def keep(self, found: Checked[list[dict[str, Any]]], basis: Basis) -> int:
        """Keep what a distillation found; returns how many patterns are new. The same run again changes nothing.

        Raises ``TypeError`` for what no guard has checked, ``AlteredAfterCheck``, ``Sealed``, ``KnowledgeError``.
        """
        items = msgspec.json.decode(_content(found), type=tuple[Found, ...])
        operation = Distilled(basis=basis, receipt=found.receipt, found=items)

        def do() -> int:
            if basis.run in self._state.runs:
                return 0
            before = len(self._state.patterns)
            self._append(operation)
            return len(self._state.patterns) - before

        return self._locked(do)

    def adopting(self, items: Checked[list[dict[str, Any]]]) -> Adopted | None:
        """The operation that takes over patterns in the reference's form; None when these very ones were taken over
        before. Raises ``Sealed`` when it could not be carried out."""
        content = msgspec.json.decode(_content(items), type=tuple[dict[str, Any], ...])
        self.refresh()
        if self.foreign:
            self._check_foreign(items)
        elif self.sealed:
            self.require_open()
        known = items.receipt.out_sha in self._state.adopted
        return None if known else Adopted(at=seconds_stamp(self._clock()), receipt=items.receipt, items=content)

    def adopt(self, operation: Adopted, items: Checked[list[dict[str, Any]]]) -> int:
        """Carry it out; returns how many patterns are new. ``items`` are those that it was made from."""
        if operation.receipt != items.receipt or _content(items) is None:
            raise UsageError("the operation was made from other patterns")

        def do() -> int:
            before = len(self._state.patterns)
            if self.foreign:
                self._check_foreign(items)
                aside(self.home, self.home.knowledge)
            if operation.receipt.out_sha not in self._state.adopted:
                self._append(operation)
            self._derive()
            return len(self._state.patterns) - before

        return self._locked(do, even_foreign=True)

    def acting(self, act: Act, subject: str, *, by: str, why: str) -> Acted:
        """The operation by which a person does something to a pattern or a source.

        Raises ``UsageError`` for a subject that nothing has, or an act without a person and a reason.
        """
        if act is not Act.TOUCH and not (by.strip() and why.strip()):
            raise UsageError(f"to {act.value} takes a person and a reason")
        self.refresh()
        if act is not Act.QUARANTINE:
            self.require_open()
        state = self._state
        if not (state.reached_by(subject) if act is Act.REVOKE else subject in state.patterns):
            raise UsageError(f"there is nothing called '{subject}' here; 'mklang akc knowledge' lists the patterns")
        return Acted(act=act, subject=subject, at=seconds_stamp(self._clock()), by=by, why=why)

    def act(self, operation: Acted) -> list[str]:
        """Carry it out; returns the names of the patterns that are gone."""

        def do() -> list[str]:
            before = set(self._state.patterns)
            self._append(operation)
            return [one for one in before if one not in self._state.patterns]

        return self._locked(do, even_sealed=operation.act is Act.QUARANTINE)

    def export(self) -> None:
        """Write ``knowledge.json`` as it follows from the operations, unless it is there already."""

        self._locked(self._derive)

    def _check_foreign(self, items: Checked[Any]) -> None:
        """Raises ``Sealed`` unless the patterns are those of the file that somebody else left."""
        data = read_plain(self.home.knowledge, LIMIT) or b""
        found = knowledge_guard(self._entries, strict=False).examine(data)
        if not isinstance(found, Checked) or found.receipt.out_sha != items.receipt.out_sha:
            raise Sealed(f"{self.home.knowledge} was written by something else: take that over first, or move it away")

    def _derive(self) -> None:
        text = render(list(self._state.patterns.values()), self._on_load)
        if read_plain(self.home.knowledge, LIMIT) != text:
            replace_file(self.home.knowledge, text)
        sha = sha256(text).hexdigest()
        if self._state.exported != sha:
            self._append(Exported(sha=sha))

    def _locked(self, do: Callable[[], T], *, even_sealed: bool = False, even_foreign: bool = False) -> T:
        with locked(self.home.root / "knowledge.lock"):
            self.refresh()
            allowed = (even_sealed and not self._broken) or (even_foreign and self.foreign)
            if self.sealed and not allowed:
                raise Sealed(f"the knowledge in {self.home.root} is sealed: {self.sealed[0]}; see 'mklang akc doctor'")
            return do()

    def _append(self, operation: Operation) -> None:
        append_lines(self.home.operations, encode_operation(operation) + b"\n")
        self._read_on()

    def _read(self) -> list[str]:
        self._read_on()
        self.foreign = False
        if self._broken:
            return self._broken
        new = [one for one in self._state.patterns.values() if one.id not in self._vetted]
        problems = forbidden_in(new, self._on_load)
        if not problems:
            self._vetted.update(one.id for one in new)
        return problems + self._derived_problems()

    def _read_on(self) -> None:
        """Go on where the last reading ended; from the start when the file is another one, or shorter."""
        try:
            handle = open_plain(self.home.operations, os.O_RDONLY)
        except FileNotFoundError:
            self._forget()
            return
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if found.st_ino != self._inode or found.st_size < self._read_to:
                self._forget()
                self._inode = found.st_ino
            file.seek(self._read_to)
            data = file.read(LIMIT)
        whole = data[: data.rfind(b"\n") + 1]
        self._broken += apply_lines(self._state, whole, self.home.operations.name)
        self._read_to += len(whole)

    def _derived_problems(self) -> list[str]:
        """What is wrong with ``knowledge.json``: it must be what was written last, or what follows now."""
        name = self.home.knowledge
        try:
            found = name.lstat()
        except FileNotFoundError:
            return []
        mark = (found.st_ino, found.st_size, found.st_mtime_ns)
        if mark == self._derived:
            return []
        problems = self._problems_of(read_plain(name, LIMIT) or b"")
        self._derived = () if problems else mark
        return problems

    def _problems_of(self, data: bytes) -> list[str]:
        if sha256(data).hexdigest() == self._state.exported:
            return []
        if data == json_text([one.to_reference() for one in self._state.patterns.values()]):
            return []
        name = self.home.knowledge.name
        examined = self._on_load.examine(data)
        detail = "" if isinstance(examined, Checked) else f": {examined[0]}"
        if self._state.exported is None and not self._state.runs:
            self.foreign = True
            return [f"{name} was written by something else; 'mklang akc knowledge adopt' takes it over{detail}"]
        return [f"{name} is not what was written here: something else has changed it{detail}"]


def apply_lines(state: State, data: bytes, name: str) -> list[str]:
    """Go on by the lines of a journal of operations; returns every line that is none, with its byte."""
    problems, offset = [], 0
    for line in data.splitlines(keepends=True):
        try:
            state.apply(decode_operation(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if line.strip():
                problems.append(f"{name}: no operation at byte {offset}: {error}")
        offset += len(line)
    return problems


def forbidden_in(patterns: list[Pattern], guard: Guard) -> list[str]:
    """Why patterns must not be read, each by its name."""
    found = guard.examine_value([one.to_reference() for one in patterns])
    if isinstance(found, Checked):
        return []
    named = []
    for failure in found:
        head = failure.pointer[1:].partition("/")[0]
        which = f"pattern {patterns[int(head)].id}: " if head.isdigit() and int(head) < len(patterns) else ""
        named.append(f"{which}{failure}")
    return named


def render(patterns: list[Pattern], guard: Guard) -> bytes:
    """The bytes of a ``knowledge.json``. Raises ``GuardRefused``."""
    return json_text(guard.check_value([one.to_reference() for one in patterns]).value)


def json_text(value: object) -> bytes:
    """JSON as the public reference writes it: two spaces a level, a newline at the end."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _content(value: Checked[Any]) -> bytes:
    if not isinstance(value, Checked):
        raise TypeError(f"knowledge takes what a guard has checked, not {type(value).__name__}")
    return value.content()


def summary_of(patterns: list[Pattern]) -> Mapping[str, int]:
    """How many records of each origin stand behind patterns."""
    return {key: sum(one.share.get(key, 0) for one in patterns) for one in patterns for key in one.share}
