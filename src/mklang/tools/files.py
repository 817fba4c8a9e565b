"""The tools ``list_files``, ``read_file`` and ``write_file``: a workspace, and nothing outside it (L105)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from mklang.engine.options import Effect
from mklang.lang.values import Json
from mklang.tools.envelope import Payload, ToolProblem, reporting
from mklang.tools.tool import HostTool
from mklang.tools.workspace import MAX_BYTES, Workspace

READ_BYTES = 65_536


def file_tools(workspace: Workspace | None) -> tuple[HostTool, ...]:
    """The three tools over a workspace; without one they are stubs that report there is none."""

    def space() -> Workspace:
        if workspace is None:
            raise ToolProblem("this host has no workspace for files")
        return workspace

    def list_files(path: str = "") -> Payload:
        shown, found = space().entries(path)
        entries: list[Json] = [
            {"name": entry.name, "kind": "dir"}
            if entry.folder
            else {"name": entry.name, "kind": "file", "bytes": entry.bytes}
            for entry in shown
        ]
        return {"path": path, "entries": entries, "count": found, "truncated": found > len(shown)}

    def read_file(path: str, max_bytes: Annotated[int, Meta(ge=1)] = READ_BYTES) -> Payload:
        content = space().read(path, min(max_bytes, MAX_BYTES))
        text = content.data.decode("utf-8", "replace")
        return {"path": path, "content": text, "bytes": content.size, "truncated": content.truncated}

    def write_file(path: str, content: str, overwrite: bool = False) -> Payload:
        try:
            data = content.encode()
            existed = space().write(path, data, overwrite=overwrite)
        except ToolProblem as problem:
            raise ToolProblem(str(problem), path=path, written=False, **problem.payload) from None
        return {"path": path, "bytes": len(data), "written": True, "existed": existed}

    stub = workspace is None
    return (
        reporting(
            list_files,
            name="list_files",
            description="What is in a folder of the workspace; 'path' is relative, '' the workspace itself.",
            effect=Effect.READ,
            stub=stub,
        ),
        reporting(
            read_file,
            name="read_file",
            description="The text of a file in the workspace, up to max_bytes (at most 262144).",
            effect=Effect.READ,
            stub=stub,
        ),
        reporting(
            write_file,
            name="write_file",
            description="Write a text file in the workspace, whole or not at all. Needs the host's grant.",
            effect=Effect.EFFECT,
            stub=stub,
            idempotent=False,
        ),
    )
