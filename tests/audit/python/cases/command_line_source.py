import subprocess
from pathlib import Path


def main() -> None:
    done = subprocess.run(["claude", "-p", "summarise"], capture_output=True, text=True, check=True)
    Path("notes.md").write_text(done.stdout)  # find AK102
