from pathlib import Path

import httpx


def main() -> None:
    reply = httpx.post("http://localhost/api/tickets", json={}, timeout=9)
    Path("ticket.json").write_text(reply.text)
