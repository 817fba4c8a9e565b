from pathlib import Path

from reexport import question


def main() -> None:
    Path("notes.md").write_text(question("x"))  # find AK102
