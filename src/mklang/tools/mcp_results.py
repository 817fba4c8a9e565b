"""What MCP servers say about their tools and in their results, in our words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mklang.engine.options import Effect

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ToolAnnotations


def effect_told(annotations: ToolAnnotations | None) -> Effect:
    """A tool's effect from what its server says about it; what is not said counts as an effect (L77).

    A tool that only reads may still send what it is given elsewhere, unless its world is said to be closed.
    """
    if annotations is None or not annotations.read_only_hint:
        return Effect.EFFECT
    return Effect.READ if annotations.open_world_hint is False else Effect.EGRESS


def text_of(result: CallToolResult) -> str:
    """A result as text: its text parts, else its structured content as JSON, else a note about what it holds."""
    from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

    texts: list[str] = []
    others: list[str] = []
    for part in result.content:
        match part:
            case TextContent():
                texts.append(part.text)
            case EmbeddedResource(resource=TextResourceContents() as resource):
                texts.append(resource.text)
            case ResourceLink():
                texts.append(str(part.uri))
            case _:
                others.append(f"[{part.type}: not text]")
    if texts:
        return "\n".join(texts)
    if result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(others)
