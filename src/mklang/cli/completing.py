"""What a shell offers while somebody types: machine files, names, runs. Loads what it needs only when asked."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem


class MachineName(click.ParamType[str]):
    """A machine by its name; with ``files`` also by its file."""

    name = "machine"

    def __init__(self, *, files: bool, names: bool = True) -> None:
        self._files = files
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Files and names that begin like this."""
        return [
            *(_files(incomplete) if self._files else ()),
            *(_names(incomplete, near=not self._files) if self._names else ()),
        ]


def _files(incomplete: str) -> list[CompletionItem]:
    """Machine files and folders on the way to some."""
    folder = Path(incomplete if incomplete.endswith("/") else f"{incomplete}x").parent
    prefix = incomplete.rpartition("/")[0]
    found = []
    try:
        entries = sorted(folder.expanduser().iterdir())
    except OSError:
        return []
    for entry in entries:
        shown = f"{prefix}/{entry.name}" if "/" in incomplete else entry.name
        wanted = shown.startswith(incomplete) and not entry.name.startswith(".")
        if wanted and entry.is_dir():
            found.append(CompletionItem(f"{shown}/"))
        elif wanted and entry.suffix in {".mkl", ".mk"}:
            found.append(CompletionItem(shown))
    return found


def _names(incomplete: str, *, near: bool) -> list[CompletionItem]:
    """Machines by name; those of a project only where ``near``, since their files are what commands take."""
    from mklang.host.layers import Origin  # a shell asks, and nobody else pays
    from mklang.host.listing import list_machines

    return [
        CompletionItem(one.name, help=one.purpose)
        for one in list_machines()
        if one.name.startswith(incomplete) and one.machine and not one.hidden
        if near or one.origin is not Origin.PROJECT
    ]


class RunName(click.ParamType[str]):
    """A run that is kept, by its name."""

    name = "run"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Runs that begin like this, the newest first."""
        from mklang.host.paths import runs_folder  # a shell asks, and nobody else pays

        kept = sorted(runs_folder().glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
        return [CompletionItem(path.stem) for path in kept if path.stem.startswith(incomplete)]


RUN = RunName()
MACHINE = MachineName(files=True)
MACHINE_FILE = MachineName(files=True, names=False)
MACHINE_NAME = MachineName(files=False)
