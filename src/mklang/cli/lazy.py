"""A group of commands whose modules are imported when they are called: each holds a click command named ``command``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """Where a command lives and what it is for."""

    module: str
    purpose: str


class LazyGroup(click.Group):
    """A group that knows its commands by a table and imports a command's module when that command is called."""

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, imported now."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        command = import_module(entry.module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}.command is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command a person called; a name that is none gets the nearest one as a hint."""
        if args and args[0] not in self.table and not args[0].startswith("-") and not ctx.resilient_parsing:
            _refuse_command(ctx, args[0], self.table)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands by the table, so that completing one imports none; options as click knows them."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem  # only when a shell asks

        named = self.table.items()
        return [CompletionItem(name, help=entry.purpose) for name, entry in named if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """The list of commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.purpose) for name, entry in self.table.items()])


def _refuse_command(ctx: click.Context, name: str, table: Mapping[str, Entry]) -> NoReturn:
    from mklang.diagnostics import near_miss  # only a mistake needs it

    hint = near_miss(name, table) or f"the commands are {', '.join(table)}"
    raise click.UsageError(f"there is no command '{name}'; {hint}", ctx)
