"""The embedded model's verdicts over the examples are verdicts: right or wrong, none is left unread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mklang.llm.local import embedded_available

SCRIPT = Path(__file__).parents[2] / "scripts/judge_reads.py"


@pytest.mark.model
@pytest.mark.rule("L61")
@pytest.mark.skipif(not embedded_available(), reason="needs the extra 'local'")
@pytest.mark.parametrize("manner", ["choice", "noul"])
def test_none_of_the_embedded_models_verdicts_is_unread(manner: str) -> None:
    command = [sys.executable, str(SCRIPT), "--decisions", "5", "--judge", manner]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"judged by {manner}: {{'clean': 5}}" in done.stdout
