"""The flags of the commands that run machines about what their file tools reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])


class ReachFlags(TypedDict):
    """What the file tools reach; None leaves it to the configuration."""

    workspace: str | None
    allow_write: bool | None


def reach_options(command: _Command) -> _Command:
    """Give a command the flags of :class:`ReachFlags`."""
    for option in (
        click.option(
            "--allow-write/--no-allow-write", default=None, help="Whether write_file may write into the workspace."
        ),
        click.option(
            "--workspace",
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False),
            help="The folder that the file tools see, and nothing outside it.",
        ),
    ):
        command = option(command)
    return command
