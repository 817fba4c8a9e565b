from pathlib import Path

import ollama


def main() -> None:
    Path("notes.md").write_text(ollama.chat(model="m", messages=[])["message"]["content"])  # find AK102
