"""The tools and hooks of one run: built in, from the configuration, from guards, from the caller. Later ones win."""

from __future__ import annotations

from dataclasses import dataclass

from mklang.hooks.registry import HookRegistry
from mklang.host.configuration import Configuration
from mklang.host.guards import RunGuards
from mklang.host.reach import Told, reach_of, structured_of
from mklang.tools.registry import ToolRegistry
from mklang.tools.standard import standard_tools
from mklang.tools.tool import HostTool, ToolFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run can call besides models. ``structured`` names the tools whose observations are read as JSON."""

    tools: ToolRegistry
    hooks: HookRegistry
    structured: frozenset[str] = frozenset()


def parts_of(
    configuration: Configuration,
    guards: RunGuards,
    *,
    told: Told | None = None,
    tools: ToolRegistry | None = None,
    hooks: HookRegistry | None = None,
) -> Parts:
    """Put them together. Raises ``ConfigError`` for a knob that is set to what it cannot be."""
    named: dict[str, HostTool | ToolFunction] = {**standard_tools(reach_of(configuration, told)), **guards.tools}
    return Parts(
        tools=ToolRegistry({**named, **(tools.given if tools is not None else {})}),
        hooks=HookRegistry({**guards.hooks, **(hooks or {})}),
        structured=structured_of(configuration),
    )
