"""``mklang lint``: mistakes, and everything that is valid and suspicious, without a model (L16, L18)."""

from __future__ import annotations

from typing import Any

import click

from mklang.cli.inspecting import Asked, inspecting_options, run
from mklang.cli.output import Output


@click.command(short_help="Find mistakes and suspicious places in machine files, without a model.")
@inspecting_options(strict="Fail on findings too, notes excepted; an unsupported language version is an error.")
def command(*, out: Output, **options: Any) -> int:
    """Find mistakes in machine files, and what is valid and suspicious. 'mklang explain CODE' tells more.

    Exit code 1 when there is an error, and under --strict when there is a finding that is no note.
    """
    return run("lint", Asked(**options), out)
