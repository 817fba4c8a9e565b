from collections.abc import Callable
from pathlib import Path


def distil(generate: Callable[[str], str], log: str) -> None:
    Path("knowledge.json").write_text(generate(log))  # find AK102
