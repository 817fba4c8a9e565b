"""How far a measuring is, for a person at a terminal: calls, tokens and money."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from mklang.measure.asking import Tally


class Bar:
    """Drawn on stderr while it is entered; called with what was asked so far."""

    def __init__(self, most: int) -> None:
        self._progress = Progress(
            TextColumn("measuring"),
            BarColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=max(1, most))

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, tally: Tally) -> None:
        """Show what was asked."""
        money = f"  ${tally.usage.nano_usd / 1e9:.4f}" if tally.usage.nano_usd else ""
        told = f"{tally.calls} calls ({tally.cached} cached)  {tally.usage.total:,} tokens{money}"
        self._progress.update(self._task, completed=tally.calls + tally.cached, description=told)
