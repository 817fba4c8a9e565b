from collections.abc import Callable
from pathlib import Path


def render(escape: Callable[[str], str], text: str) -> None:
    Path("page.html").write_text(escape(text))
