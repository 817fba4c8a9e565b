"""An MCP server on stdio that behaves as its first argument says. Speaks the protocol by hand, so that it can break it.

Every start adds a line to the file in the second argument: the process's id.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MODE, STARTS = sys.argv[1], sys.argv[2]
CLOSED_READ = {"readOnlyHint": True, "openWorldHint": False}
TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}, "annotations": CLOSED_READ, "description": "Says it again."},
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "act", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": True}},
    {"name": "unsaid", "inputSchema": {"type": "object"}},
]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def called(number: Any, arguments: dict[str, Any]) -> None:
    text: list[dict[str, Any]] = [{"type": "text", "text": json.dumps(arguments)}]
    if MODE == "die-mid-call" and Path(STARTS).stat().st_size < 12:  # only the first one dies
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if MODE == "never-answer":
        return
    if MODE == "is-error":
        say({"id": number, "result": {"content": [{"type": "text", "text": "no such city"}], "isError": True}})
    elif MODE == "protocol-error":
        say({"id": number, "error": {"code": -32602, "message": "bad arguments"}})
    elif MODE == "structured-only":
        say({"id": number, "result": {"content": [], "structuredContent": {"facts": ["a", "ü"]}}})
    elif MODE == "picture":
        say({"id": number, "result": {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}})
    else:
        if MODE == "stdout-noise":
            print("Listening on port 8080 ...\n{broken json\n\n[1, 2]", flush=True)
        say({"id": number, "result": {"content": text}})


def main() -> None:
    with Path(STARTS).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid():05d}\n")
    if MODE == "never-start":
        time.sleep(1000)
    if MODE == "stdout-noise":
        print("Starting up!", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "stub", "version": "1"}
            say(
                {
                    "id": number,
                    "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
                }
            )
        elif method == "tools/list":
            say({"id": number, "result": {"tools": TOOLS}})
        elif method == "tools/call":
            called(number, message["params"].get("arguments") or {})
        elif number is not None:
            say({"id": number, "error": {"code": -32601, "message": f"no method {method}"}})


main()
