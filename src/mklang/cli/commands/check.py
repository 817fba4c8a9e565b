"""``mklang check``: every mistake in machine files, each at its place, without a model (L114)."""

from __future__ import annotations

from typing import Any

import click

from mklang.cli.inspecting import Asked, inspecting_options, run
from mklang.cli.output import Output


@click.command(short_help="Find mistakes in machine files, without a model.")
@inspecting_options(strict="Treat a language version that is not supported as an error.")
def command(*, out: Output, **options: Any) -> int:
    """Find mistakes in machine files: what cannot be read, and what could not run.

    Exit code 1 when there is an error, also for a file that is missing; warnings do not count.
    """
    return run("check", Asked.take(options), out)
