"""An audit of the Python files in some files and folders: options, cache, changed files, baseline. Prints nothing."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from mklang.audit.findings import AuditFinding, ordered
from mklang.audit.python import PythonReport, audit_python, describe_python, find_options
from mklang.audit.sarif import fingerprint
from mklang.errors import UsageError
from mklang.host.auditing import AuditReport, Looking, audit

PYTHON = (".py", ".pyi")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonLooking:
    """How Python is looked at: ``everything`` lists allowed writes too, ``changed`` is a git revision (empty: all
    files), ``baseline`` a file of findings that are known (empty: the one the options name, if any)."""

    everything: bool = False
    changed: str = ""
    baseline: str = ""
    cached: bool = True


def audited(paths: Sequence[str], looking: Looking, python: PythonLooking, *, described: bool) -> AuditReport:
    """Everything in these files and folders: machines and Python. Raises ``UsageError`` as the two do."""
    report = audit([path for path in paths if not path.endswith(PYTHON)], looking)
    known = _baseline(paths, python)
    if known:
        listed = read_baseline(known)
        kept = tuple(one for one in report.findings if fingerprint(one) not in listed)
        report = replace(report, findings=kept, known=len(report.findings) - len(kept))
    chosen = [path for path in paths if path.endswith(PYTHON) or Path(path).is_dir()]
    if not chosen:
        return report
    found = audit_python_in(chosen, python)
    pipelines = describe_python(found.solver, found.findings) if described and found.solver is not None else ()
    return replace(
        report,
        findings=ordered((*report.findings, *found.findings)),
        described=(*report.described, *pipelines),
        python=found,
    )


def audit_python_in(paths: Sequence[str], looking: PythonLooking | None = None) -> PythonReport:
    """Audit Python. Raises ``UsageError`` for options, a revision or a baseline that cannot be used."""
    said = looking or PythonLooking()
    missing = next((path for path in paths if not Path(path).exists()), None)
    if missing is not None:
        raise UsageError(f"there is no file or folder '{missing}'")
    root = _root(paths)
    options = find_options(root)
    only = changed_files(root, said.changed) if said.changed else None
    store = _store(paths) if said.cached else None
    report = audit_python(paths, options, store=store, everything=said.everything, only=only)
    known = _baseline(paths, said)
    return without_known(report, known) if known else report


def _root(paths: Sequence[str]) -> Path:
    first = Path(paths[0]).resolve()
    return first if first.is_dir() else first.parent


def _baseline(paths: Sequence[str], said: PythonLooking) -> str:
    """The baseline that was named, else the project's."""
    root = _root(paths)
    own = "" if said.baseline else find_options(root).baseline
    return said.baseline or (str(root / own) if own else "")


def cache_folder() -> Path:
    """The folder for what can be made again: ``MKLANG_CACHE_DIR``, else the XDG cache folder's ``mklang``."""
    own = os.environ.get("MKLANG_CACHE_DIR")
    if own:
        return Path(own)
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "mklang"


def _store(paths: Iterable[str]) -> Path:
    about = "\n".join([str(Path.cwd()), *(str(Path(path).resolve()) for path in paths)])
    return cache_folder() / "audit" / f"{blake2b(about.encode(), digest_size=12).hexdigest()}.facts"


def changed_files(root: Path, revision: str) -> frozenset[str]:
    """The files that differ from a git revision, and those git does not know, named as findings name them."""
    if revision.startswith("-"):
        raise UsageError(f"--changed {revision!r} is no revision")
    told = _git(root, "diff", "--name-only", "-z", revision, "--") + _git(
        root, "ls-files", "-z", "--others", "--exclude-standard", "--full-name", ":/"
    )
    top = Path(_git(root, "rev-parse", "--show-toplevel").strip("\n\0"))
    absolute = [top / name for name in told.split("\0") if name]
    return frozenset(name for path in absolute for name in (str(path), os.path.relpath(path)))


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - no shell, fixed verbs
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        raise UsageError(f"--changed asks git, which says: {reason.strip()}") from error
    return done.stdout


def without_known(report: PythonReport, path: str) -> PythonReport:
    """The report without the findings that a baseline lists."""
    known = read_baseline(path)
    kept = tuple(one for one in report.findings if fingerprint(one) not in known)
    return replace(report, findings=kept, known=len(report.findings) - len(kept))


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints in a baseline. Raises ``UsageError`` when it is none."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
        return frozenset(str(one["fingerprint"]) for one in data["findings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"baseline '{path}' cannot be read: {error}") from error


def write_baseline(path: str, findings: Iterable[AuditFinding]) -> int:
    """Write the findings that are known from now on; returns how many."""
    listed = [
        {
            "fingerprint": fingerprint(one),
            "code": one.code,
            "path": one.path,
            "where": one.where,
            "message": one.message,
        }
        for one in findings
    ]
    Path(path).write_text(json.dumps({"version": 1, "findings": listed}, indent=2) + "\n", "utf-8")
    return len(listed)
