"""The picture as SVG, laid out by Graphviz: the one of the extra ``graph``, or one that is installed (``dot``)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from mklang.charts.chart import Chart
from mklang.charts.dot import FONT, to_dot
from mklang.errors import HostError, MissingExtra

EXTRA = "graph"
PROGRAM = "graphviz-pure"
SECONDS = 60.0
"""How long a layout may take."""


def to_svg(chart: Chart) -> str:
    """The text of an SVG file; raises ``MissingExtra`` when nothing can lay it out."""
    program = layout_program()
    if program is None:
        raise MissingExtra("drawing SVG", EXTRA)
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program and fixed arguments; the text goes to stdin
            [program, "-Tsvg"], input=to_dot(chart).encode(), capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{program}: {error}") from error
    if done.returncode or not done.stdout:
        raise HostError(f"{program}: {done.stderr.decode(errors='replace').strip() or 'no output'}")
    # A reader's machine may lack the font; the second has its widths, and the last is there everywhere.
    return done.stdout.decode().replace(f'"{FONT}"', f'"{FONT},DejaVu Sans,sans-serif"')


def layout_program() -> str | None:
    """The program that lays out, of this environment first; None when there is none."""
    own = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    return own or shutil.which(PROGRAM) or shutil.which("dot")
