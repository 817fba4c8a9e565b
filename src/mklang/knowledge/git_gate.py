"""The gate at a commit: guarded files that are staged must hold what a person approved, by the ledger."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from mklang.errors import KnowledgeError
from mklang.knowledge.gate import AgentGate
from mklang.knowledge.ledger import Event, Row


def staged(project: Path) -> list[tuple[str, bytes | None]]:
    """What is staged: paths from the project, with their bytes; None for one that is deleted. Raises
    ``KnowledgeError`` when git cannot say."""
    top = Path(_git(project, "rev-parse", "--show-toplevel").decode().strip())
    names = _git(
        project, "diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD" if _has_head(project) else _EMPTY
    )
    found: list[tuple[str, bytes | None]] = []
    for name in names.decode("utf-8", "surrogateescape").split("\0"):
        path = top / name
        if name and path.is_relative_to(project):
            done = subprocess.run(["git", "show", f":{name}"], cwd=top, capture_output=True, check=False)  # noqa: S603, S607 - git
            found.append((path.relative_to(project).as_posix(), done.stdout if done.returncode == 0 else None))
    return found


_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's empty tree: what the first commit is compared with."""


def unapproved(
    gate: AgentGate, rows: Sequence[Row], changed: Sequence[tuple[str, bytes | None]], *, by_agent: bool
) -> Iterator[str]:
    """The staged files that hold behaviour or control, and for an agent evidence, other than as it was approved."""
    approved = {(row.target, row.new_sha) for row in rows if row.event is Event.APPROVED}
    for name, data in changed:
        stake = gate.stake(gate.project / name)
        if stake not in gate.stakes or (stake == "evidence" and not by_agent):
            continue
        if gate.project / name == gate.home or (gate.project / name).is_relative_to(gate.home):
            continue  # the cycle's own books verify themselves
        if data is None or (name, sha256(data).hexdigest()) not in approved:
            what = "its deletion" if data is None else "this text of it"
            yield f"{name} holds {stake}, and nobody approved {what} (mklang akc propose, then akc review)"


def _has_head(project: Path) -> bool:
    command = ["git", "rev-parse", "--verify", "-q", "HEAD"]
    return subprocess.run(command, cwd=project, capture_output=True, check=False).returncode == 0  # noqa: S603 - git


def _git(project: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=project, capture_output=True, check=False)  # noqa: S603, S607 - git
    except OSError as error:
        raise KnowledgeError(f"git cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise KnowledgeError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
