"""The built-in tools that reach the world, put together from what a host allows (L105)."""

from __future__ import annotations

from dataclasses import dataclass, field

from mklang.tools.files import file_tools
from mklang.tools.http import HttpRules, http_tool
from mklang.tools.kb import DemoFacts, KnowledgeBase, kb_tool
from mklang.tools.mail import Delivery, NoDelivery, mail_tool
from mklang.tools.search import NoSearch, SearchBackend, search_tool
from mklang.tools.tool import HostTool
from mklang.tools.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the built-in tools of one host can reach; by default nothing but stubs."""

    workspace: Workspace | None = None
    search: SearchBackend = field(default_factory=NoSearch)
    kb: KnowledgeBase = field(default_factory=DemoFacts)
    mail: Delivery = field(default_factory=NoDelivery)
    http: HttpRules = field(default_factory=HttpRules)


def standard_tools(reach: Reach) -> dict[str, HostTool]:
    """``search``, ``search_kb``, ``send_reply``, the file tools and ``http``, by name. ``calc`` needs nothing."""
    tools = (
        search_tool(reach.search),
        kb_tool(reach.kb),
        mail_tool(reach.mail),
        *file_tools(reach.workspace),
        http_tool(reach.http),
    )
    return {tool.name: tool for tool in tools}
