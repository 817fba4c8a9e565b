from pathlib import Path

from .clients import model


def main() -> None:
    Path("notes.md").write_text(model.complete("x"))  # find AK102
