"""The program ``mklang``: finds the command, and is the last boundary before the shell.

The table ``COMMANDS`` is all that is known here about commands. A command's module is imported only when it is called,
so that ``mklang --help`` costs what click costs (L106).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click

from mklang import __version__
from mklang.cli.exit_codes import ExitCode
from mklang.cli.lazy import Entry, LazyGroup
from mklang.cli.output import complain, guarded_streams

COMMANDS: Mapping[str, Entry] = {
    "run": Entry("mklang.cli.commands.run", "Run a machine on a language model."),
    "resume": Entry("mklang.cli.commands.resume", "Go on with a run that waits or broke off."),
    "runs": Entry("mklang.cli.commands.runs", "List, show, fork and prune the runs that are kept."),
    "check": Entry("mklang.cli.commands.check", "Find mistakes in machine files, without a model."),
    "lint": Entry("mklang.cli.commands.lint", "Find mistakes and suspicious places in machine files, without a model."),
    "fmt": Entry("mklang.cli.commands.fmt", "Write machine files in the one way, comments kept."),
    "explain": Entry("mklang.cli.commands.explain", "What a code of check and lint means, and what to do."),
    "test": Entry("mklang.cli.commands.test", "Run a machine's scripted scenarios, without a model."),
    "graph": Entry("mklang.cli.commands.graph", "Draw a machine, and the way of a run through it."),
    "init": Entry("mklang.cli.commands.init", "Make the files that a project begins with."),
    "new": Entry("mklang.cli.commands.new", "Begin a machine of your own from one that is there."),
    "machines": Entry("mklang.cli.commands.machines", "List the machines that can be run or called from here."),
    "trust": Entry("mklang.cli.commands.trust", "Let a project folder's own configuration count, as it is now."),
    "doctor": Entry("mklang.cli.commands.doctor", "Say what runs would use here, and why."),
    "schema": Entry("mklang.cli.commands.schema", "Print the JSON Schema of machines, or of a run's output."),
    "audit": Entry("mklang.cli.commands.audit", "Find model output that reaches an effect with no guard on the way."),
    "gates": Entry("mklang.cli.commands.gates", "Which gate of a state would fire on a text, and why."),
    "guard": Entry("mklang.cli.commands.guard", "Hold values against a guard: schema, bounds, forbidden texts."),
    "akc": Entry("mklang.cli.commands.akc", "The knowledge cycle: experience in, approved behaviour out."),
    "divergence": Entry("mklang.cli.commands.divergence", "Measure judges on a pinned corpus, against their bars."),
    "conformance": Entry("mklang.cli.commands.conformance", "Run conformance cases against this implementation."),
    "completion": Entry("mklang.cli.commands.completion", "Print the script that completes mklang in a shell."),
}


@click.command(
    cls=LazyGroup,
    table=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 halted or found wanting, 2 could not be done, 130 interrupted.",
)
@click.version_option(__version__, prog_name="mklang", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run, check and test state machines whose states are answered by a language model."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@cli.result_callback()
@click.pass_context
def _leave(ctx: click.Context, code: object) -> None:
    """A command returns its exit code."""
    ctx.exit(code if isinstance(code, int) else ExitCode.OK)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. Nothing escapes: this is the top level of the surface."""
    with guarded_streams() as streams:
        code = _run(arguments)
    if streams.problem:
        complain(f"the output could not be written: {streams.problem}")
        return ExitCode.UNUSABLE
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = cli.main(args=arguments, prog_name="mklang", standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.UNUSABLE
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted", label="")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a surface's top level: the person gets a sentence, not a traceback
        return _explain(error)
    return result if isinstance(result, int) else ExitCode.OK  # click's way of passing an exit on


def _explain(error: Exception) -> int:
    """Say what went wrong, with the traceback for whoever asked for it (L101)."""
    from mklang.errors import MklangError  # only a mistake needs it

    if os.environ.get("MKLANG_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, MklangError):
        complain(str(error))
    else:
        complain(f"unexpected {type(error).__name__}: {error}")
        complain("this is a bug in mklang; set MKLANG_DEBUG=1 to see where it happened", label="hint")
    return ExitCode.UNUSABLE


if __name__ == "__main__":
    sys.exit(main())
