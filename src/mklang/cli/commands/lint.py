"""``mklang lint``: mistakes, and everything that is valid and suspicious, without a model (L16, L18)."""

from __future__ import annotations

from typing import Any

import click

from mklang.cli.inspecting import Asked, inspecting_options, run
from mklang.cli.llm_options import LlmFlags, llm_options
from mklang.cli.output import Output
from mklang.errors import UsageError


@click.command(short_help="Find mistakes and suspicious places in machine files, without a model.")
@inspecting_options(strict="Fail on findings too, notes excepted; an unsupported language version is an error.")
@llm_options
def command(*, out: Output, **options: Any) -> int:
    """Find mistakes in machine files, and what is valid and suspicious. 'mklang explain CODE' tells more.

    Exit code 1 when there is an error, and under --strict when there is a finding that is no note. With --llm a judge
    is asked about the prose conditions as well; what it finds is advice and never an error.
    """
    asked, flags = Asked.take(options), LlmFlags.of(options)
    if not (flags.llm or flags.llm_estimate):
        return run("lint", asked, out)
    if asked.fix or asked.diff or asked.watch:
        raise UsageError("--llm measures documents once, as they are; it takes no --fix, --diff or --watch")
    from mklang.cli.llm_lint_cli import run as run_with_model  # models and their clients: only when they are asked

    return run_with_model(asked, flags, out)
