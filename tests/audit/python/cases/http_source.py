import os
from pathlib import Path

import httpx

BASE = "http://localhost:8080/v1"


def main() -> None:
    reply = httpx.post(f"{BASE}/chat/completions", json={}, timeout=9)
    Path("notes.md").write_text(reply.json()["choices"][0]["message"]["content"])  # find AK102
