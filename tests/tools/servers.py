"""Small servers on this machine: one that answers web requests as told, one that takes mail."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Web:
    """What was asked, and what is answered: a status, headers and a body for each path."""

    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    base: str = ""


@contextmanager
def web(pages: dict[str, tuple[int, dict[str, str], bytes]] | None = None) -> Iterator[Web]:
    """A web server while this lasts."""
    kept = Web(pages=pages or {})

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            kept.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, headers, page = kept.pages.get(self.path, (404, {}, b"nothing here"))
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(page))}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(page)
            except (BrokenPipeError, ConnectionResetError):
                return

        do_GET = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815 - what the library looks for

        def log_message(self, format: str, *args: object) -> None:
            pass

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        kept.base = f"http://127.0.0.1:{port}"
        yield kept


@dataclass
class MailBox:
    """The mails that came in, as text, with their recipients; ``refuse`` is what the server says to every recipient."""

    port: int = 0
    mails: list[tuple[list[str], str]] = field(default_factory=list)
    refuse: str = ""


@contextmanager
def mail_server() -> Iterator[MailBox]:
    """A mail server while this lasts."""
    box = MailBox()

    class Handler(socketserver.StreamRequestHandler):
        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        def handle(self) -> None:
            self.say("220 test")
            to: list[str] = []
            while line := self.rfile.readline().decode().strip():
                command = line.split(" ")[0].upper()
                if command == "RCPT" and box.refuse:
                    self.say(box.refuse)
                elif command == "RCPT":
                    to.append(line.split(":", 1)[1].strip("<> "))
                    self.say("250 ok")
                elif command == "DATA":
                    self.say("354 go on")
                    lines: list[str] = []
                    while (part := self.rfile.readline().decode()) != ".\r\n":
                        lines.append(part)
                    box.mails.append((to, "".join(lines)))
                    self.say("250 taken")
                elif command == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

    with _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as port:
        box.port = port
        yield box


@contextmanager
def _serving(server: socketserver.TCPServer) -> Iterator[int]:
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
