"""The flags of ``lint --llm``. They cost nothing to import; what they do is imported when they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from mklang.cli.model_flags import model_options

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmFlags:
    """What a person asked for, by the names of the flags."""

    llm: bool
    llm_samples: int
    llm_repeats: int
    llm_probes: str
    llm_estimate: bool
    llm_budget: int | None
    llm_cache: str
    llm_material: Sequence[str]
    llm_report: Sequence[str]
    baseline: str | None
    models: Mapping[str, Any]
    """The flags that say which models answer, by name."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LlmFlags:
        """The flags among a command's options."""
        own = {one.name for one in fields(cls)} - {"models"}
        models = {name: value for name, value in options.items() if name not in own}
        return cls(models=models, **{name: value for name, value in options.items() if name in own})


def llm_options(command: _Decorated) -> _Decorated:
    """Give ``lint`` the flags of :class:`LlmFlags`."""
    count = click.IntRange(min=1)
    for option in reversed(
        (
            click.option("--llm", is_flag=True, help="Also put the prose conditions before a judge; costs tokens."),
            click.option("--llm-samples", type=count, default=5, metavar="K", help="Outputs asked for per state (5)."),
            click.option("--llm-repeats", type=count, default=3, metavar="R", help="Judge calls per output (3)."),
            click.option(
                "--llm-probes",
                type=click.Choice(["targeted", "full"]),
                default="targeted",
                help="full: also ask about every condition alone, K x gates more calls.",
            ),
            click.option("--llm-estimate", is_flag=True, help="Say what it may cost, and stop."),
            click.option("--llm-budget", type=count, metavar="TOKENS", help="Stop when so many tokens are used."),
            click.option("--llm-cache", type=click.Choice(["on", "off"]), default="on", help="off: measure afresh."),
            click.option(
                "--llm-material",
                multiple=True,
                metavar="FILE",
                help="A scenario file or a run's journal to sample from.",
            ),
            click.option(
                "--llm-report", multiple=True, metavar="FILE", help="Write the report: .html, .json, .sarif or .txt."
            ),
            click.option("--baseline", metavar="FILE", help="An earlier JSON report: say what changed."),
        )
    ):
        command = option(command)
    return model_options(command)
