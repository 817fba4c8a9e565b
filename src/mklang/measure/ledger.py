"""A spend ledger for live measurements: one file for all of them, a hard cap, refuse before and never regret after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mklang.errors import UsageError


class CapReached(UsageError):
    """The next run could pass the cap, so it was not begun."""


@dataclass(slots=True)
class Ledger:
    """What measurements have cost so far, in US dollars, and what one more run may cost at most.

    A run whose cost the provider does not say is charged at its estimate: an unknown price is never zero.
    """

    path: Path
    cap: float
    estimate: float
    run_id: str = ""
    timestamp: str = ""
    _spent: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._spent = sum(_read(self.path))

    @property
    def spent(self) -> float:
        """All that was spent, this invocation included."""
        return self._spent

    def reserve(self) -> None:
        """Refuse a run that could pass the cap."""
        if round(self._spent + self.estimate, 9) > self.cap:
            raise CapReached(
                f"{self.path}: ${self._spent:.4f} spent and up to ${self.estimate:.4f} for the next run would pass the "
                f"cap of ${self.cap:.2f}; nothing more is asked"
            )

    def charge(self, row: Mapping[str, Any]) -> None:
        """Write down what a run cost, at once."""
        usd = row.get("usd")
        line = {
            "provider": row["provider"],
            "model": row.get("judge_model", ""),
            "input_tokens": row["usage"]["input_tokens"],
            "output_tokens": row["usage"]["output_tokens"],
            "usd": self.estimate if usd is None else usd,
            "usd_source": "estimate" if usd is None else "provider",
            "run_id": self.run_id,
            "timestamp": self.timestamp,
        }
        self._spent += float(line["usd"])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def _read(path: Path) -> list[float]:
    """What a ledger says was spent; one that cannot be read is no ledger to go on with."""
    if not path.exists():
        return []
    try:
        return [float(json.loads(line)["usd"]) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: the spend ledger cannot be read ({error}); nothing is asked") from None
