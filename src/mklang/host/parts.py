"""The tools and hooks of one run: built in, from plug-ins, servers, guards, the caller. Later ones win."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mklang.errors import ConfigError
from mklang.hooks.builtin import HookFunction
from mklang.hooks.hook import HostHook
from mklang.hooks.registry import HookRegistry
from mklang.host.configuration import Configuration
from mklang.host.guards import RunGuards
from mklang.host.keys import beside
from mklang.host.plugins import plugins_of
from mklang.host.reach import Told, reach_of, structured_of
from mklang.lang.models import Machine, Tool
from mklang.llm.addresses import check_url
from mklang.tools.mcp_servers import McpServer, McpServers
from mklang.tools.registry import ToolRegistry
from mklang.tools.standard import standard_tools
from mklang.tools.tool import HostTool, ToolFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run can call besides models. ``structured`` names the tools whose observations are read as JSON.

    Whoever holds them closes ``servers`` in the end.
    """

    tools: ToolRegistry
    hooks: HookRegistry
    structured: frozenset[str] = frozenset()
    servers: McpServers = field(default_factory=McpServers)


def parts_of(
    configuration: Configuration,
    machines: Iterable[Machine],
    guards: RunGuards,
    *,
    told: Told | None = None,
    tools: ToolRegistry | None = None,
    hooks: HookRegistry | None = None,
) -> Parts:
    """Put them together; of the configured MCP servers those are started whose tools the machines name.

    Raises ``ConfigError`` for a knob that is set to what it cannot be and for a server that cannot be used.
    """
    servers, plugins = McpServers(), plugins_of(configuration)
    named: dict[str, HostTool | ToolFunction] = dict(standard_tools(reach_of(configuration, told)))
    named |= plugins.tools
    named |= servers.open(servers_of(configuration, _named_by(machines)))
    named |= guards.tools
    own = dict(tools.given) if tools is not None else {}
    asked: dict[str, HostHook | HookFunction] = dict(plugins.hooks)
    asked |= guards.hooks
    asked |= hooks.given if hooks is not None else {}
    return Parts(
        tools=ToolRegistry({**named, **own}),
        hooks=HookRegistry(asked),
        structured=structured_of(configuration),
        servers=servers,
    )


def _named_by(machines: Iterable[Machine]) -> frozenset[str]:
    """What stands before the first dot in the names of tools: possibly a server."""
    states = (state for machine in machines for state in machine.states.values())
    return frozenset(state.tool.partition(".")[0] for state in states if isinstance(state, Tool) and "." in state.tool)


def servers_of(configuration: Configuration, wanted: frozenset[str]) -> Iterator[McpServer]:
    """The configured servers of these names, with the values of the variables they get.

    Raises ``ConfigError`` for a variable that is not set and for an address that may not be used.
    """
    for name, entry in configuration.servers().items():
        if name in wanted:
            yield McpServer(
                name=name,
                command=entry.command,
                cwd=str(beside(configuration.folder_of(f"mcp.{name}"), entry.cwd or "")),
                env={**entry.env, **{variable: _value(configuration, name, variable) for variable in entry.env_from}},
                url=None if entry.url is None else check_url(entry.url),
                headers={
                    header: _value(configuration, name, variable) for header, variable in entry.headers_env.items()
                },
                effects=entry.effects,
                only=entry.only,
                timeout=entry.timeout,
                start_timeout=entry.start_timeout,
            )


def _value(configuration: Configuration, server: str, variable: str) -> str:
    found = configuration.variables.get(variable)
    if found is None:
        raise ConfigError(f"MCP server '{server}' needs the variable {variable}, and it is not set")
    return found
