"""Proposals: a change of a file that waits for a person. Anybody may make one; making one changes nothing (I6)."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from mklang.errors import KnowledgeError, UsageError
from mklang.guards import Checked, Receipt
from mklang.knowledge.files import locked, make_folder, read_plain, replace_file, sync_folder
from mklang.knowledge.home import Clock, Home, seconds_stamp, utc
from mklang.knowledge.ledger import OPEN, Event, Ledger, Row, new_row
from mklang.stakes import Stake, stake_of

ABSENT = "absent"
"""The base of a file that is not there yet."""
NEW, DIFF, META = "new", "patch.diff", "proposal.json"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The five fields a person gets instead of the full text, where the stakes allow that."""

    approved_intent: str = ""
    realised_change: str = ""
    plan_delta: str = "none"
    impact: str = ""
    evidence_changes: str = "none"


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where a proposal comes from, with how many records of each origin stand behind it (I16)."""

    patterns: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    episodes: int = 0
    share: dict[str, int] = {}


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A change that waits. ``target`` is a path below the project; the hashes are SHA-256 of the whole file."""

    id: str
    at: str
    kind: str
    target: str
    stake: str
    base_sha: str
    new_sha: str
    receipt: Receipt
    lineage: Lineage = Lineage()
    summary: Summary = Summary()
    rules: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    why: str = ""
    judge: str = ""


_decode = msgspec.json.Decoder(Proposal).decode


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What a proposal says about itself when it is made."""

    kind: str = "edit"
    why: str = ""
    lineage: Lineage = Lineage()
    summary: Summary = Summary()
    rules: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    judge: str = ""


class Proposals:
    """The proposals of a home."""

    def __init__(self, home: Home, clock: Clock, nonce: Callable[[], str]) -> None:
        """``nonce`` gives something unguessable, for names."""
        self._home = home
        self._clock = clock
        self._nonce = nonce

    def make(self, target: str, content: Checked[str], draft: Draft) -> Proposal:
        """Put a changed file up for decision. Raises ``TypeError`` for what no guard has checked, ``UsageError`` for a
        target outside the project, for one that holds no behaviour, control or evidence, and for no change at all."""
        if not isinstance(content, Checked):
            raise TypeError(f"a proposal holds what a guard has checked, not {type(content).__name__}")
        path = resolve_target(self._home, target)
        relative = path.relative_to(self._home.project.resolve()).as_posix()
        new, old = content.content(), read_target(path)
        if new == old:
            raise UsageError(f"{relative} is like that already")
        moment = utc(self._clock())
        proposal = Proposal(
            id=f"{moment:%Y%m%d-%H%M%S}-{self._nonce()[:6]}",
            at=seconds_stamp(moment),
            target=relative,
            stake=stake_of(relative).name.lower(),
            base_sha=sha_of(old),
            new_sha=sha_of(new),
            receipt=content.receipt,
            **msgspec.structs.asdict(draft),
        )
        self._write(proposal, new, difference(old, new, relative))
        return proposal

    def _write(self, proposal: Proposal, new: bytes, diff: str) -> None:
        """Everything or nothing: the folder appears whole, then the ledger's row."""
        final = self._home.proposals / proposal.id
        hidden = self._home.proposals / f".{proposal.id}"
        meta = msgspec.json.format(msgspec.json.encode(proposal)) + b"\n"
        with locked(self._home.root / "decisions.lock"):
            ledger = Ledger(self._home, self._clock)
            make_folder(self._home.proposals)
            make_folder(hidden)
            try:
                replace_file(hidden / NEW, new)
                replace_file(hidden / DIFF, diff.encode("utf-8", "surrogateescape"))
                replace_file(hidden / META, meta)
                hidden.rename(final)
            except OSError as error:
                shutil.rmtree(hidden, ignore_errors=True)
                raise KnowledgeError(f"{final}: {error.strerror}") from error
            sync_folder(self._home.proposals)
            row = new_row(
                Event.PROPOSED,
                proposal.id,
                target=proposal.target,
                base_sha=proposal.base_sha,
                new_sha=proposal.new_sha,
            )
            about = {"patterns": proposal.lineage.patterns, "why": proposal.why, "description": sha_of(meta)}
            ledger.append(msgspec.structs.replace(row, **about))


def read_proposal(home: Home, name: str, rows: Sequence[Row]) -> tuple[Proposal, bytes]:
    """A proposal and the bytes it proposes. Raises ``KnowledgeError`` when it is not as it was made, by the ledger."""
    folder = home.proposals / name
    if "/" in name or name.startswith(".") or not folder.is_dir() or folder.is_symlink():
        raise KnowledgeError(f"there is no proposal '{name}'; 'mklang akc proposals' lists what waits")
    meta = read_plain(folder / META) or b""
    made = next((row for row in rows if row.proposal == name and row.event is Event.PROPOSED), None)
    try:
        proposal = _decode(meta)
    except msgspec.MsgspecError as error:
        raise KnowledgeError(f"{folder / META}: no proposal: {error}") from error
    new = read_plain(folder / NEW)
    whole = made is not None and made.description == sha_of(meta) and made.new_sha == proposal.new_sha
    if not whole or proposal.id != name or new is None or sha_of(new) != proposal.new_sha:
        raise KnowledgeError(f"proposal {name} is not as it was made: its text or its description was changed")
    return proposal, new


def waiting(home: Home, ledger: Ledger) -> list[str]:
    """The names of the proposals that wait for a person, the oldest first."""
    last = {row.proposal: row.event for row in ledger.rows}
    return [name for name, event in last.items() if event in OPEN and (home.proposals / name).is_dir()]


def read_waiting(home: Home, ledger: Ledger) -> tuple[list[Proposal], list[str]]:
    """What waits, the oldest first, and why some of it cannot be read."""
    found: list[Proposal] = []
    broken: list[str] = []
    for name in waiting(home, ledger):
        try:
            found.append(read_proposal(home, name, ledger.rows)[0])
        except KnowledgeError as error:
            broken.append(str(error))
    return found, broken


def resolve_target(home: Home, target: str) -> Path:
    """Where a change would be written, links followed. Raises ``UsageError`` for a place outside the project, or in the
    cycle's own folder, or one that holds nothing a person has to decide about."""
    project = home.project.resolve()
    literal = Path(os.path.normpath(project / target))
    try:
        path = literal.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"target {target!r}: {error}") from error
    if not literal.is_relative_to(project) or not path.is_relative_to(project) or path == project:
        raise UsageError(f"target {target!r} is outside of {project}")
    if path.is_relative_to(home.root.resolve()) or ".git" in path.relative_to(project).parts:
        raise UsageError(f"target {target!r} belongs to the cycle or to git, and no proposal changes it")
    if path.exists() and not path.is_file():
        raise UsageError(f"target {target!r} is no file")
    return path


def read_target(path: Path) -> bytes | None:
    """What a target holds now; None when it is not there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KnowledgeError(f"{path}: {error.strerror}") from error


def sha_of(data: bytes | None) -> str:
    """The hash of a file's bytes; ``ABSENT`` for a file that is not there."""
    return ABSENT if data is None else sha256(data).hexdigest()


def difference(old: bytes | None, new: bytes, name: str) -> str:
    """The change as a unified diff."""
    before = (old or b"").decode("utf-8", "surrogateescape").splitlines(keepends=True)
    after = new.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    lines: Iterable[str] = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def needs_person(proposal: Proposal) -> bool:
    """Whether the target's stakes, computed anew, leave the decision to a person alone."""
    return stake_of(proposal.target).needs_person


def stake_now(proposal: Proposal) -> Stake:
    """What the change is worth by its target, whatever the proposal says."""
    return stake_of(proposal.target)


def shares(bases: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Origins counted over several."""
    total: dict[str, int] = {}
    for share in bases:
        for origin, count in share.items():
            total[origin] = total.get(origin, 0) + count
    return total
