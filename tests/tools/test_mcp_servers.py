"""Tools of MCP servers: whatever a server does, a call ends in time with the right outcome, and nothing stays behind.

The stub speaks the protocol by hand (``mcp_stub.py``); one real server of the package index is driven from a machine.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.engine.options import Effect
from mklang.engine.requests import Tool
from mklang.errors import ConfigError, MissingExtra, ToolFailed
from mklang.lang.values import Json
from mklang.tools.mcp_servers import McpServer, McpServers
from mklang.tools.registry import ToolRegistry
from tests.tools.servers import web

STUB = Path(__file__).with_name("mcp_stub.py")


class Stub:
    """Servers in the stub's modes, and the processes they were."""

    def __init__(self, tmp_path: Path) -> None:
        self.starts = tmp_path / "starts"
        self.servers = McpServers()

    def open(self, mode: str, **settings: Any) -> ToolRegistry:
        command = (sys.executable, str(STUB), mode, str(self.starts))
        return ToolRegistry(self.servers.open([McpServer(name="stub", command=command, **settings)]))

    @property
    def processes(self) -> list[int]:
        return [int(line) for line in self.starts.read_text().split()] if self.starts.exists() else []


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Stub]:
    """A stub; at the end none of its processes is there, not even as a zombie."""
    found = Stub(tmp_path)
    yield found
    found.servers.close()
    for process in found.processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert not [thread for thread in threading.enumerate() if thread.name == "mklang-mcp"]


def request(name: str, arguments: dict[str, Json] | None = None) -> Tool:
    return Tool(key="k", state="s", name=name, input=arguments or {}, effect=Effect.READ, idempotency_key="once")


def call(tools: ToolRegistry, name: str = "stub.echo", **arguments: Json) -> str:
    return asyncio.run(tools.answer(request(name, arguments))).text


def test_a_servers_tools_are_the_hosts_with_schema_and_effect(stub: Stub) -> None:
    tools = stub.open("ok")
    assert json.loads(call(tools, a=1, b="ü")) == {"a": 1, "b": "ü"}
    assert call(tools, a=2) == '{"a": 2}'
    assert {name: tools[name].effect for name in tools if name.startswith("stub.")} == {
        "stub.echo": Effect.READ,  # looks, in a closed world
        "stub.look": Effect.EGRESS,  # looks, and nobody says where
        "stub.act": Effect.EFFECT,
        "stub.unsaid": Effect.EFFECT,
    }
    assert (tools["stub.echo"].description, dict(tools["stub.echo"].schema)) == ("Says it again.", {"type": "object"})
    assert (tools["stub.act"].repeatable, tools["stub.unsaid"].repeatable) == (True, False)
    assert len(stub.processes) == 1


def test_the_host_has_the_last_word_about_effects_and_which_tools_there_are(stub: Stub) -> None:
    tools = stub.open("ok", effects={"unsaid": Effect.READ}, only=frozenset({"unsaid"}))
    assert [name for name in tools if name.startswith("stub.")] == ["stub.unsaid"]
    assert tools["stub.unsaid"].effect is Effect.READ


def test_a_tool_that_is_offered_must_be_there(stub: Stub) -> None:
    with pytest.raises(ConfigError, match=r"has no tool 'eccho', only act, echo, look, unsaid"):
        stub.open("ok", only=frozenset({"eccho"}))


def test_a_server_that_dies_fails_the_call_and_is_started_again_for_the_next(stub: Stub) -> None:
    tools = stub.open("die-mid-call")
    with pytest.raises(
        ToolFailed, match=r"tool 'stub.echo': .* stopped before it answered; its stderr ends: out of mem"
    ):
        call(tools)
    assert call(tools, a=1) == '{"a": 1}'
    assert len(stub.processes) == 2


def test_a_call_that_is_never_answered_fails_in_time_and_its_server_is_stopped(stub: Stub) -> None:
    tools = stub.open("never-answer", timeout=0.3)
    with pytest.raises(ToolFailed, match=r"did not answer within 0\.3 s"):
        call(tools)
    with pytest.raises(ProcessLookupError):
        os.kill(stub.processes[0], 0)


def test_a_server_that_never_starts_is_a_configuration_error_in_time(stub: Stub) -> None:
    with pytest.raises(ConfigError, match=r"MCP server 'stub' does not answer within 0\.5 s"):
        stub.open("never-start", start_timeout=0.5)


@pytest.mark.parametrize(("mode", "told"), [("is-error", "no such city"), ("protocol-error", "bad arguments")])
def test_an_error_result_is_an_error(stub: Stub, mode: str, told: str) -> None:
    tools = stub.open(mode)
    with pytest.raises(ToolFailed, match=f"tool 'stub.echo': {told}"):
        call(tools)
    assert len(stub.processes) == 1


def test_noise_on_stdout_is_skipped_and_said_once(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="mklang.mcp"):
        tools = stub.open("stdout-noise")
        assert call(tools, a=1) == '{"a": 1}'
        assert call(tools, a=2) == '{"a": 2}'
    assert [record.getMessage() for record in caplog.records if record.name == "mklang.mcp"] == [
        "MCP server 'stub' writes lines to stdout that are no messages; they are skipped"
    ]


def test_a_result_that_is_structured_only_is_its_json_and_a_picture_a_note(stub: Stub, tmp_path: Path) -> None:
    assert call(stub.open("structured-only")) == '{"facts": ["a", "ü"]}'
    stub.servers.close()
    assert call(stub.open("picture")) == "[image: not text]"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("/nowhere/server",), "there is no program '/nowhere/server'"),
        ((sys.executable, "-c", "import sys; sys.exit('no licence')"), "its stderr ends: no licence"),
        ((sys.executable, "-c", "print('hello')"), "cannot be used"),
    ],
)
def test_a_program_that_is_no_server_is_said_so(command: tuple[str, ...], told: str) -> None:
    servers = McpServers()
    with pytest.raises(ConfigError) as caught:
        servers.open([McpServer(name="x", command=command, start_timeout=20)])
    assert "MCP server 'x'" in str(caught.value)
    assert told in str(caught.value)


def test_a_program_gets_the_variables_it_is_given_and_no_others(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "secret")
    script = f"import os, sys; open({str(tmp_path / 'env')!r}, 'w').write(repr(dict(os.environ))); sys.exit('seen')"
    with pytest.raises(ConfigError, match="seen"):
        McpServers().open([McpServer(name="x", command=(sys.executable, "-c", script), env={"MINE": "1"})])
    given = (tmp_path / "env").read_text()
    assert "'MINE': '1'" in given
    assert "OTHER_API_KEY" not in given


def test_many_calls_at_once_each_get_their_own_answer(stub: Stub) -> None:
    tools = stub.open("ok")

    async def scenario() -> list[str]:
        asked = (tools.answer(request("stub.echo", {"n": n})) for n in range(50))
        return [observation.text for observation in await asyncio.gather(*asked)]

    assert asyncio.run(scenario()) == [f'{{"n": {n}}}' for n in range(50)]


def test_a_call_that_is_called_off_leaves_the_server_usable(stub: Stub) -> None:
    tools = stub.open("never-answer", timeout=30)

    async def scenario() -> bool:
        task = asyncio.create_task(tools.answer(request("stub.echo")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(scenario())


def test_a_server_over_http_is_reached_with_its_headers_and_a_redirect_is_not_followed() -> None:
    from mcp.server import MCPServer
    from starlette.types import Message, Receive, Scope, Send
    from uvicorn import Config, Server

    seen: list[str] = []
    elsewhere: list[bytes] = []
    app = MCPServer("calc")

    @app.tool()
    def double(n: int) -> int:
        """Twice the number."""
        return 2 * n

    inner = app.streamable_http_app()

    async def asgi(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            seen.extend(value.decode() for name, value in scope["headers"] if name == b"x-key")
            if scope["path"] == "/moved":
                start: Message = {
                    "type": "http.response.start",
                    "status": 307,
                    "headers": [(b"location", elsewhere[0])],
                }
                await send(start)
                await send({"type": "http.response.body", "body": b""})
                return
        await inner(scope, receive, send)

    with web() as other, socket.socket() as listening:
        elsewhere.append(f"{other.base}/mcp".encode())
        listening.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        server = Server(Config(asgi, log_level="error", lifespan="on", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
        thread.start()
        servers = McpServers()
        try:
            entry = McpServer(name="calc", url=f"{base}/mcp", headers={"X-Key": "secret"})
            tools = ToolRegistry(servers.open([entry]))
            assert call(tools, "calc.double", n=21) == "42"
            with pytest.raises(ToolFailed, match=r"calc\.double"):
                call(tools, "calc.double", n="many")
            assert set(seen) == {"secret"}
            assert "secret" not in repr(entry)
            seen.clear()
            with pytest.raises(ConfigError, match="MCP server 'moved'"):
                McpServers().open([McpServer(name="moved", url=f"{base}/moved", headers={"X-Key": "secret"})])
            assert "secret" in seen
            assert other.asked == []
        finally:
            servers.close()
            server.should_exit = True
            thread.join(10)


def test_nobody_at_the_address_is_a_configuration_error() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with pytest.raises(ConfigError, match="MCP server 'gone'"):
        McpServers().open([McpServer(name="gone", url=f"http://127.0.0.1:{port}/mcp", start_timeout=10)])


MACHINE = """\
mklang: "0.4"
machine: clock
entry: ask
budget: 3
result: noon
states:
  ask:
    tool: time.convert_time
    input: { source_timezone: Europe/Rome, time: "12:00", target_timezone: Asia/Tokyo }
    output: noon
    gates:
      - { when: the answer names the target, hook: "eq:noon:", fail: true }
      - { when: otherwise, then: ok, to: END }
"""
CONFIG = """\
tools:
  mcp:
    time: { command: [PYTHON, -m, mcp_server_time, --local-timezone, UTC] }
    unused: { command: [/nowhere/server] }
"""


def test_a_public_server_answers_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcp_server_time")
    (tmp_path / "clock.mkl").write_text(MACHINE)
    (tmp_path / "mine.yaml").write_text(CONFIG.replace("PYTHON", sys.executable))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_CONFIG", "mine.yaml")
    flags = ["--base-url", "http://localhost:9/v1", "--model", "none", "--no-keep", "--format", "json"]
    assert main(["run", "clock.mkl", *flags]) == 0
    result = json.loads(json.loads(capsys.readouterr().out)["result"])
    assert result["target"]["timezone"] == "Asia/Tokyo"
    assert result["target"]["datetime"].split("T")[1].startswith(("19:00", "20:00"))


def test_a_machine_that_names_a_tool_a_server_does_not_have_is_told_so(
    tmp_path: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.mkl").write_text(MACHINE.replace("time.convert_time", "stub.eccho"))
    config = f"tools: {{ mcp: {{ stub: {{ command: [{sys.executable}, {STUB}, ok, {stub.starts}] }} }} }}"
    (tmp_path / "mine.yaml").write_text(config)
    monkeypatch.chdir(tmp_path)
    flags = ["--base-url", "http://localhost:9/v1", "--model", "none", "--no-keep"]
    monkeypatch.setenv("MKLANG_CONFIG", "mine.yaml")
    assert main(["run", "m.mkl", *flags]) == 1
    assert "did you mean 'stub.echo'?" in capsys.readouterr().err


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtra, match=r"mklang\[mcp\]"):
        McpServers().open([McpServer(name="x", command=("x",))])
    assert McpServers().open([]) == {}
