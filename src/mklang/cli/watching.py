"""``--watch``: do something now, and again whenever a file it is about changes, until Ctrl-C.

Files are looked at, not listened to: it works on every system and over every mount. A change counts once it has
settled, so that an editor that writes a file in several steps causes one run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, complain, is_terminal
from mklang.errors import MklangError
from mklang.host.inspection import below

INTERVAL = 0.3
"""Seconds between two looks."""

Stamps: TypeAlias = Mapping[str, tuple[int, int, int]]
Sleep: TypeAlias = Callable[[float], None]


def watch(run: Callable[[], int], targets: Iterable[str], out: Output, *, sleep: Sleep = time.sleep) -> int:
    """Run now and after every change of the machines and scripts around ``targets``. Ctrl-C ends it quietly."""
    targets = list(targets)
    try:
        while True:
            before = stamps(targets)
            _clear(out)
            _run(run)
            out.aside(out.side_ink("watching for changes; Ctrl-C ends it", dim=True))
            while stamps(targets) == before:
                sleep(INTERVAL)
            _settle(targets, sleep)
    except KeyboardInterrupt:
        return ExitCode.OK


def stamps(targets: Iterable[str]) -> Stamps:
    """What tells whether a file has changed, for every file beside the targets or in them."""
    found: dict[str, tuple[int, int, int]] = {}
    for folder in {_folder(target) for target in targets}:
        for path in below(folder, _ENDINGS):
            _stamp(path, found)
    return found


_ENDINGS = (".mkl", ".mk", ".yaml", ".yml")


def _run(run: Callable[[], int]) -> None:
    """A file that was deleted, or a word that chooses nothing any more, is told; the next change may mend it."""
    try:
        run()
    except MklangError as error:
        complain(str(error))


def _folder(target: str) -> Path:
    path = Path(target)
    return path if path.is_dir() else path.parent


def _stamp(path: Path, found: dict[str, tuple[int, int, int]]) -> None:
    try:
        status = path.stat()
    except OSError:
        return
    found[str(path)] = status.st_mtime_ns, status.st_size, status.st_ino


def _settle(targets: list[str], sleep: Sleep) -> None:
    """Wait until nothing has changed between two looks."""
    before = stamps(targets)
    sleep(INTERVAL)
    while (now := stamps(targets)) != before:
        before = now
        sleep(INTERVAL)


def _clear(out: Output) -> None:
    """On a terminal, each run begins on an empty screen."""
    if is_terminal(sys.stdout):
        out.say("\x1b[2J\x1b[H")
