"""`lint --llm` over states whose truth is planted: our survey and the reference's probe, on one corpus.

    .venv/bin/python benchmarks/planted.py [--readme]

The reference runs as a program, each state in a folder of its own, against a server on this machine that plays a writer
and a perfect judge that picks the first true condition. It does not say which kind of output it wants, so its writer
draws from all that the state can show. Ours is asked in this process, with the same kind of judge and the same calls.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the planted states are the tests'

from readme import put
from tests.measure.planted import Planted, Score, corpus, kinds_of
from tests.measure.surveys import score

from mklang.measure.survey import Plan

REFERENCE = Path.home() / ".cache" / "mklang-bench" / "mklang_ref" / "bin" / "mklang"
KINDS = ("overlap", "shadowed", "gap")
SEEDS = 3


def main() -> None:
    """Measure and print one row each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readme", action="store_true", help="also put the table into benchmarks/README.md")
    options = parser.parse_args()
    states = corpus()
    head = "".join(f" {kind} found | false |" for kind in KINDS)
    rows = [f"| {len(states)} states |{head}", "|---|" + "---|---|" * len(KINDS)]
    for name, plan, quality in (
        ("ours, probabilities, clean", Plan(), {}),
        ("ours, probabilities, one answer in ten wrong", Plan(), {"noise": 0.1}),
        ("ours, picks, clean", Plan(), {"probabilities": False}),
        ("ours, picks, clean, `--llm-probes full`", Plan(full=True), {"probabilities": False}),
    ):
        found = Score()
        for seed in range(SEEDS):
            found.merge(score(states, plan, seed=seed, **quality))
        rows.append(row(name, found))
    if REFERENCE.exists():
        rows.append(row("the reference, picks, clean", reference_score(states)))
    else:
        print(f"no reference at {REFERENCE}: its row is left out", file=sys.stderr)
    print("\n".join(rows))
    if options.readme:
        put("planted.py", rows)


def row(name: str, found: Score) -> str:
    """One line of the table."""
    cells = [
        f" {found.hits[kind]}/{found.there[kind]} = {found.recall(kind):.3f} |"
        f" {found.false[kind]}/{found.clean[kind]} = {found.false_rate(kind):.3f} |"
        for kind in KINDS
    ]
    return f"| {name} |{''.join(cells)}"


def reference_score(states: list[Planted]) -> Score:
    """What the reference says of each state, held against the truth. It speaks of pairs of gates only."""
    found = Score()
    by_name = {one.name: one for one in states}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _stub(by_name))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        for planted in states:
            pairs = set(_pairs(_lint(planted, Path(folder) / planted.name, server.server_port)))
            for kind, truth, clean in kinds_of(planted):
                found.add(kind, truth, clean, pairs if kind == "overlap" else set())
    server.shutdown()
    return found


def _lint(planted: Planted, folder: Path, port: int) -> list[Any]:
    folder.mkdir()
    (folder / f"{planted.name}.mkl").write_text(_document(planted), encoding="utf-8")
    (folder / "runtime.yaml").write_text(
        f"active: stub\nproviders:\n  stub:\n    protocol: openai_compat\n    base_url: http://127.0.0.1:{port}/v1\n"
        "    api_key_env: STUB_KEY\n    tiers: { fast: stub, balanced: stub, reasoning: stub }\n",
        encoding="utf-8",
    )
    command = [REFERENCE, "lint", "--llm", "--config", "runtime.yaml", "--format", "json", f"{planted.name}.mkl"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "STUB_KEY": "stub"}
    )
    wire = json.loads(done.stdout)
    if not wire["items"]:
        raise RuntimeError(f"the reference did not measure {planted.name}: {wire['diagnostics']}")
    findings: list[Any] = wire["items"][0]["llm_findings"]
    return findings


def _document(planted: Planted) -> str:
    gates = [f"      - {{ when: the output shows mark {i}, then: ok, to: s{i} }}" for i in range(planted.size)]
    if planted.catch_all:
        gates.append("      - { when: otherwise, then: ok, to: END }")
    ends = [
        f"  s{i}: {{ structure: x, prompt: x, output: x, gates: [{{ when: otherwise, then: ok, to: END }}] }}"
        for i in range(planted.size)
    ]
    head = f'mklang: "0.3"\nmachine: {planted.name}\nentry: look\nbudget: 9\ndefault_tier: fast\nstates:\n  look:\n'
    body = f"    structure: case_{planted.name}, a line of marks.\n    prompt: Write marks.\n    output: line\n"
    return head + body + "    gates:\n" + "\n".join([*gates, *ends]) + "\n"


def _pairs(findings: list[Any]) -> Iterator[tuple[int, int]]:
    for finding in findings:
        if named := re.search(r"gates? (\d+) and (\d+)", str(finding)):
            yield int(named[1]), int(named[2])


def _stub(states: dict[str, Planted]) -> type[BaseHTTPRequestHandler]:
    class Stub(BaseHTTPRequestHandler):
        """Writes outputs of random worlds of the state that is asked about, and picks the first true condition."""

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = "\n".join(str(message["content"]) for message in body["messages"])
            data = json.dumps(_reply(text, states)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Stub


def _reply(text: str, states: dict[str, Planted]) -> dict[str, object]:
    shown = re.search(r"sample \d+ of \S+ shows ([\d ]+|nothing)", text)
    message = {"role": "assistant", "content": _pick(text, shown[1]) if shown else _written(text, states)}
    usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice], "usage": usage}


def _pick(text: str, shown: str) -> str:
    marks = {int(one) for one in shown.split() if one.isdigit()}
    conditions = re.findall(r"(?m)^\s*\[?(\d+)[\].):]*\s+.*?shows mark (\d+)", text)
    last = conditions[-1][0] if conditions else "0"
    return json.dumps({"choice": int(next((number for number, mark in conditions if int(mark) in marks), last))})


def _written(text: str, states: dict[str, Planted]) -> str:
    named = re.search(r"case_(p\d_\d+)", text)
    if named is None:
        raise ValueError("the reference asked about no state of the corpus")
    planted = states[named[1]]
    chance, worlds = Random(planted.name), sorted(planted.worlds, key=sorted)
    shown = [" ".join(map(str, sorted(chance.choice(worlds)))) or "nothing" for _ in range(5)]
    return json.dumps([f"sample {number} of {planted.name} shows {marks}" for number, marks in enumerate(shown)])


if __name__ == "__main__":
    main()
