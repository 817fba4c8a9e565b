"""The whole cycle on a small model in this process: log, distil, propose, decide, behave, revoke.

    make akc-demo            or:  python examples/minimal_harness/demo.py [FOLDER]

Deciding takes you, at a terminal. Without one the demo stops where a person would be asked, as it should.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from distill import HERE, distill
from episode_log import now, open_home, record
from knowledge_store import HarnessStore

from mklang.engine.outcome import Done
from mklang.engine.run import arun
from mklang.guards import Guard
from mklang.host.akc_models import Asking, model_of
from mklang.host.seam import REAL
from mklang.host.session import Session
from mklang.knowledge import Home, Ledger, Origin, Promoter, Proposals, active_rules
from mklang.knowledge.promotion import lineage_of
from mklang.knowledge.schemas import rule_guard
from mklang.lang.reader import machine_from_text

RULES = "AGENTS.md"
LESSON = "The tests were red and the commit was reverted."
PINNED = replace(REAL, nonce=lambda: f"{7:032x}")
"""So that the tiny model says the same each time. A program that reads what others wrote keeps the real dice."""
WORK = """
mklang: "0.4"
machine: work
entry: work
budget: 2
context: { rules: The change to the parser is ready. }
states:
  work:
    structure: A concise, objective summary of the input text in one sentence.
    prompt: |-
      Input text:

      {{rules}} Commit the change to the parser.
    output: next
    gates: [{ when: otherwise, then: ok, to: END }]
"""


def say(title: str, *lines: str) -> None:
    """One step of the demo."""
    print(f"\n== {title}", *(f"   {line}" for line in lines), sep="\n")


def akc(home: Home, *words: str) -> int:
    """A command of the cycle, as a person would type it."""
    print(f"   $ mklang akc {' '.join(words)}", flush=True)
    command = [sys.executable, "-m", "mklang.cli.main", "akc", *words]
    return subprocess.run(command, cwd=home.project, check=False).returncode  # noqa: S603 - our own program


def rules_of(home: Home) -> str:
    """What the next run carries: the rules that a person approved and that still stand in their file."""
    return "\n".join(one.rule.text for one in active_rules(home, Ledger(home, now).rows))


async def work(home: Home, session: Session) -> None:
    """A run whose prompt carries the rules in force."""
    machine = machine_from_text(WORK, "work.mkl")
    rules = rules_of(home)
    outcome = await arun(machine, {"rules": rules} if rules else {}, oracle=session.oracle)
    say("a run", f"rules it was given: {rules or '(none)'}")
    answer = str(outcome.result if isinstance(outcome, Done) else outcome)
    print(f"   it answered: {answer.partition(chr(10))[0]}")


def propose(home: Home, store: HarnessStore, guard: Guard) -> None:
    """Put the heaviest pattern up as a rule. Nothing is changed by that."""
    pattern = store.load()[0]
    promoter = Promoter(home=home, proposals=Proposals(home, now, REAL.nonce), guard=guard)
    lineage = lineage_of(store.inner.state, [pattern.id])
    promoter.propose(pattern.pattern, RULES, lineage, why="it happened twice")


async def demo(folder: Path) -> int:
    """The cycle, once around."""
    home, store, session = (
        open_home(folder),
        HarnessStore(open_home(folder)),
        Asking(seam=PINNED).session(HERE / "reflect.mkl"),
    )
    print(f"in {folder}; {session.notice}")
    try:
        await work(home, session)
        record(home, "correction", f"{LESSON} Run the tests before you commit.", origin=Origin.HUMAN)
        record(home, "observation", "A second commit was reverted: the tests were red again.")
        found = await distill(home, store, session.oracle, model_of(session))
        say(f"distilled: {found.status.value}", *([found.why] if found.why else store.top(3)))
        if not store.load():
            return 1
        again = await distill(home, store, session.oracle, model_of(session))
        say("distilled again", f"{again.status.value}: nothing is new, so no model was asked")
        propose(home, store, rule_guard())
        say("a rule is proposed; you decide (type the code beside the line, or q)")
        if akc(home, "review") != 0 or not rules_of(home):
            say("nothing was approved, so nothing has changed", f"go on: cd {home.project} && mklang akc review")
            return 0
        await work(home, session)
        say("where the rule comes from")
        akc(home, "where", active_rules(home, Ledger(home, now).rows)[0].rule.id)
        say("its source turns out to be wrong: revoke the session")
        akc(home, "knowledge", "revoke", "demo", "--why", "another project's log")
        say("the rule that rests on it is up for removal; you decide again")
        akc(home, "review")
        await work(home, session)
        akc(home, "ledger", "verify")
    finally:
        await session.close()
    return 0


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="akc-demo-"))
    raise SystemExit(asyncio.run(demo(place)))
