from pathlib import Path

import starred


def main() -> None:
    Path("notes.md").write_text(starred.ask("x"))  # find AK102
