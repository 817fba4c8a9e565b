"""Calling a tool the way a run does, and reading its report."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mklang.engine.options import Effect
from mklang.engine.requests import Tool
from mklang.lang.values import Json
from mklang.tools.registry import ToolRegistry


def told(tools: ToolRegistry, name: str, **input: Json) -> dict[str, Any]:
    """The report of one call."""
    request = Tool(key="1:s/tool", state="s", name=name, input=input, effect=Effect.READ, idempotency_key="once")
    report: dict[str, Any] = json.loads(asyncio.run(tools.answer(request)).text)
    assert list(report)[:6] == ["tool", "stub", "error", "status", "retryable", "untrusted"]
    assert (report["tool"], report["retryable"], report["untrusted"]) == (name, False, True)
    assert report["status"] == ("ok" if report["error"] is None else "error")
    return report
