"""``mklang completion``: the script that lets a shell complete commands, options, machines and runs."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import write

VARIABLE = "_MKLANG_COMPLETE"
_INSTALL = {
    "bash": 'eval "$(mklang completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(mklang completion zsh)"    # in ~/.zshrc, behind compinit',
    "fish": "mklang completion fish > ~/.config/fish/completions/mklang.fish",
}


@click.command(short_help="Print the script that completes mklang in a shell.")
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the script that lets a shell complete commands, options, machine files and names.

    bash: eval "$(mklang completion bash)" in ~/.bashrc; zsh: eval "$(mklang completion zsh)" in ~/.zshrc, behind
    compinit; fish: mklang completion fish > ~/.config/fish/completions/mklang.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click cannot complete in {shell}")
    write(sys.stdout, f"# {_INSTALL[shell]}\n")
    write(sys.stdout, kind(ctx.find_root().command, {}, "mklang", VARIABLE).source() + "\n")
    return ExitCode.OK
