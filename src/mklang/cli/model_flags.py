"""The flags that say which models answer. They cost nothing to import: ``lint`` has them, and seldom asks a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])

MANNERS = ("choice", "noul")
"""The ways to judge, as ``host.judge_config`` knows them; reading them there would load the clients of the judges."""


class ModelFlags(TypedDict):
    """Which models answer."""

    config: str | None
    provider: str | None
    model: str | None
    base_url: str | None
    judge: str | None


def model_options(command: _Command) -> _Command:
    """Give a command the flags of :class:`ModelFlags`."""
    for option in (
        click.option(
            "--judge",
            type=click.Choice(MANNERS),
            help="How to judge: pick the first true condition, or ask for a probability of each (noul).",
        ),
        click.option("--base-url", metavar="URL", help="A server that speaks the OpenAI protocol; needs --model."),
        click.option("--model", metavar="NAME|FILE", help="A model of the provider, or a GGUF file to run in-process."),
        click.option("--provider", metavar="NAME", help="A provider of the configuration, instead of its active one."),
        click.option("--config", metavar="FILE", help="The runtime configuration to use."),
    ):
        command = option(command)
    return command


def answered_by(flags: ModelFlags) -> dict[str, str]:
    """Who was chosen to answer, as a journal keeps it; a configuration's path from wherever the run goes on."""
    chosen = {name: flags.get(name) for name in ("config", "provider", "model", "base_url")}
    if chosen["config"] is not None:
        chosen["config"] = str(Path(str(chosen["config"])).absolute())
    return {name: str(value) for name, value in chosen.items() if value is not None}
