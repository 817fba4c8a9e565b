"""Setting a file of layer 2 aside instead of destroying it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from mklang.knowledge.files import make_folder, read_plain, replace_file
from mklang.knowledge.home import Home


def aside(home: Home, path: Path) -> Path:
    """Keep a file's bytes in ``.akc/aside``, named by their hash; returns where."""
    folder = home.root / "aside"
    make_folder(folder)
    data = read_plain(path) or b""
    kept = folder / f"{path.name}.{sha256(data).hexdigest()[:12]}"
    if not kept.exists():
        replace_file(kept, data)
    return kept
