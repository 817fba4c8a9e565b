"""The human gate: a person's yes to these very bytes at a terminal, and no other way in."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mklang.errors import KnowledgeError, UsageError
from mklang.knowledge.habits import habits_of
from mklang.knowledge.ledger import Event, verify
from mklang.knowledge.proposals import Draft, resolve_target
from mklang.knowledge.rules import rules_in
from mklang.knowledge.terminal import AGENT_VARIABLES, Terminal, Witness, visible, with_code
from mklang.patterns import Decision, Judge
from tests.knowledge.world import Person, World, akc, approve, made, plain_environment

pytestmark = pytest.mark.rule("S43", "S48", "S49")
ROOT = Path(__file__).parents[2]


def proposed(world: World, text: str = "New text.\n", target: str = "CLAUDE.md", **about: str) -> str:
    cycle = world.cycle
    return cycle.proposals().make(target, cycle.rule_guard.check(text), Draft(**about)).id  # type: ignore[arg-type]


def events(world: World) -> list[str]:
    return [row.event.value for row in world.cycle.ledger().rows]


def test_a_yes_writes_exactly_what_was_shown_and_keeps_the_files_mode(tmp_path: Path) -> None:
    world = made(tmp_path)
    target = tmp_path / "CLAUDE.md"
    target.write_text("Old text.\n")
    target.chmod(0o640)
    name = proposed(world)
    assert target.read_text() == "Old text.\n"
    shown = approve(tmp_path)
    assert "-Old text." in shown and "+New text." in shown
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("New text.\n", 0o640)
    assert events(world) == ["proposed", "intended", "approved"]
    row = world.cycle.ledger().rows[-1]
    assert (row.proposal, row.full, row.edited) == (name, True, False)
    assert row.actor and row.channel.startswith("/dev/")


def test_nothing_piped_in_decides(tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    done = akc(tmp_path, "review", text="y\n")
    assert (done.returncode, "no terminal" in done.stderr) == (2, True)
    assert events(world) == ["proposed"]


def test_a_process_without_a_terminal_of_its_own_decides_nothing(tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    master, slave = os.openpty()  # a terminal on stdin, and yet no controlling one
    command = [sys.executable, "-m", "mklang.cli.main", "akc", "review"]
    environ = plain_environment()
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdin=slave, stdout=-1, stderr=-1, start_new_session=True
    ) as process:
        _, error = process.communicate(timeout=60)
    os.close(master)
    os.close(slave)
    assert process.returncode == 2
    assert b"no terminal to decide at" in error
    assert events(world) == ["proposed"]


@pytest.mark.parametrize("variable", AGENT_VARIABLES)
def test_an_agents_environment_is_refused_even_at_a_terminal(variable: str, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=variable):
        Terminal({variable: "1"}, lambda: 0.0)


def test_an_agent_at_a_terminal_is_refused(tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    person = Person(tmp_path, "review", environment=plain_environment(CLAUDECODE="1"))
    assert person.leave() == 2
    assert "CLAUDECODE is set" in person.seen
    assert events(world) == ["proposed"]


@pytest.mark.parametrize("answer", ["y", "yes", "y 000000", "Y", "", "\x04", "\x03", "n", "approve"])
def test_everything_but_the_code_that_is_shown_is_no_yes(answer: str, tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    person = Person(tmp_path, "review")
    person.read()
    if answer in {"\x04", "\x03"}:
        os.write(person._master, answer.encode())
    else:
        person.type(answer)
        person.type("q")
    person.leave()
    assert events(world) == ["proposed"]
    assert not (tmp_path / "CLAUDE.md").exists()


def test_a_code_is_of_one_showing_only(tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    person = Person(tmp_path, "review")
    first = person.code_in(person.read())
    second = person.type("d")
    assert person.code_in(second) != first
    assert "not the code" in person.type(f"y {first}")
    person.type("q")
    person.leave()
    assert events(world) == ["proposed"]


def test_a_changed_base_is_refused(tmp_path: Path) -> None:
    world = made(tmp_path)
    target = tmp_path / "CLAUDE.md"
    target.write_text("Old.\n")
    proposed(world)
    person = Person(tmp_path, "review")
    shown = person.read()
    target.write_text("Someone else was here.\n")
    person.type(f"y {person.code_in(shown)}")
    assert person.leave() == 1
    assert "has changed since" in person.seen
    assert target.read_text() == "Someone else was here.\n"
    assert events(world) == ["proposed"]
    assert akc(tmp_path, "review", "--list").returncode == 0


def test_a_proposal_that_was_altered_or_decided_is_refused(tmp_path: Path) -> None:
    world = made(tmp_path)
    name = proposed(world)
    folder = world.home.proposals / name
    (folder / "new").write_text("Evil.\n")
    person = Person(tmp_path, "review", name)
    assert person.leave() == 1
    assert "not as it was made" in person.seen
    (folder / "new").write_text("New text.\n")
    meta = (folder / "proposal.json").read_text()
    (folder / "proposal.json").write_text(meta.replace('"CLAUDE.md"', '".claude/settings.json"'))
    assert "not as it was made" in akc(tmp_path, "review", "--list").stderr
    (folder / "proposal.json").write_text(meta)
    approve(tmp_path, name)
    person = Person(tmp_path, "review", name)
    shown = person.read()
    assert "has changed since" in shown or "decided already" in person.type(f"y {person.code_in(shown)}")
    person.leave()
    (tmp_path / "CLAUDE.md").unlink()  # and not even when the base is the same again
    person = Person(tmp_path, "review", name)
    person.type(f"y {person.code_in(person.read())}")
    assert person.leave() == 1
    assert "decided already" in person.seen
    assert not (tmp_path / "CLAUDE.md").exists()


def test_an_edit_is_shown_again_and_checked_again(tmp_path: Path) -> None:
    world = made(tmp_path, config="forbid: [sudo]\n")
    proposed(world)
    editor = tmp_path / "editor.py"
    texts = tmp_path / "texts"
    texts.write_text("use su\u200bdo\nbe kind\n")
    editor.write_text(
        f"import sys, pathlib\ntexts = pathlib.Path({str(texts)!r})\n"
        "first, _, rest = texts.read_text().partition('\\n')\n"
        "texts.write_text(rest)\npathlib.Path(sys.argv[1]).write_text(first + '\\n')\n"
    )
    environment = plain_environment(VISUAL=f"{sys.executable} {editor}")
    person = Person(tmp_path, "review", environment=environment)
    person.read()
    shown = person.type("e")
    assert "check failed" in shown and "G301" in shown
    shown = person.type(f"y {person.code_in(shown)}")
    assert "not written" in shown
    shown = person.type("e")
    assert "+be kind" in shown
    person.type(f"y {person.code_in(shown)}")
    assert person.leave() == 0
    assert (tmp_path / "CLAUDE.md").read_text() == "be kind\n"
    assert world.cycle.ledger().rows[-1].edited is True


def test_a_hold_waits_and_a_rejection_takes_a_reason_and_ends_it(tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    person = Person(tmp_path, "review")
    person.read()
    person.type("h")
    person.leave()
    assert "waits" not in akc(tmp_path, "review", "--list").stdout
    assert "CLAUDE.md" in akc(tmp_path, "review", "--list").stdout
    person = Person(tmp_path, "review")
    person.read()
    assert "takes a reason" in person.type("n")
    person.type("n too vague")
    person.leave()
    assert events(world) == ["proposed", "held", "rejected"]
    assert akc(tmp_path, "review", "--list").stdout == ""
    assert world.cycle.ledger().rows[-1].why == "too vague"


def test_ordinary_code_is_shown_in_five_fields_and_behaviour_in_full(tmp_path: Path) -> None:
    world = made(tmp_path)
    about = ["--why", "speed", "--change", "a cache", "--impact", "faster", "--plan-delta", "present"]
    (tmp_path / "new.py").write_text("x = 1\n")
    assert akc(tmp_path, "propose", "src/app.py", "--file", "new.py", *about).returncode == 0
    person = Person(tmp_path, "review")
    shown = person.read()
    assert "realised change:     a cache" in shown.replace(f"   ‹code {person.code_in(shown)}›", "")
    assert "+x = 1" not in shown
    assert "+x = 1" in person.type("d")
    person.type("q")
    person.leave()
    assert events(world) == ["proposed"]


@pytest.mark.parametrize(
    "target",
    ["../outside.md", "/etc/passwd", ".akc/decisions.jsonl", ".git/hooks/pre-commit", ".", "link/x.md", "a\0b"],
)
def test_a_target_outside_the_project_or_in_the_books_is_refused(target: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    world = made(project)
    (tmp_path / "elsewhere").mkdir()
    (project / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((UsageError, ValueError)):
        resolve_target(world.home, target)


def test_a_linked_rules_file_is_written_where_it_leads_inside_the_project(tmp_path: Path) -> None:
    world = made(tmp_path)
    (tmp_path / "AGENTS.md").write_text("old\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    proposed(world)
    approve(tmp_path)
    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "AGENTS.md").read_text() == "New text.\n"


def test_only_checked_texts_are_proposed_and_only_a_terminal_makes_a_witness(tmp_path: Path) -> None:
    world = made(tmp_path)
    with pytest.raises(TypeError):
        world.cycle.proposals().make("CLAUDE.md", "raw", Draft())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Witness("me", "/dev/tty", 1.0, True)
    with pytest.raises(TypeError):
        world.cycle.approvals().decide("x", type("V", (), {"witness": None})())  # type: ignore[arg-type]


TAMPER = {
    "edited": lambda rows: [rows[0].replace(b"CLAUDE", b"CLEUDA"), *rows[1:]],
    "taken out": lambda rows: [rows[0], *rows[2:]],
    "cut off": lambda rows: rows[:-1],
    "swapped": lambda rows: [rows[1], rows[0], *rows[2:]],
    "respelt": lambda rows: [rows[0].replace(b'":', b'": ', 1), *rows[1:]],
    "all gone": lambda rows: [],
}


@pytest.mark.parametrize("tamper", TAMPER.values(), ids=list(TAMPER))
def test_a_ledger_that_was_tampered_with_shows_it(tamper: object, tmp_path: Path) -> None:
    world = made(tmp_path)
    proposed(world)
    approve(tmp_path)
    assert verify(world.home) == []
    rows = world.home.ledger.read_bytes().splitlines(keepends=True)
    world.home.ledger.write_bytes(b"".join(tamper(rows)))  # type: ignore[operator]
    assert verify(world.home)
    done = akc(tmp_path, "ledger", "verify")
    assert (done.returncode, "broken" in done.stdout) == (1, True)


def test_habits_are_counted(tmp_path: Path) -> None:
    world = made(tmp_path)
    for number in range(3):
        proposed(world, f"text {number}\n")
        approve(tmp_path)
    found = habits_of(world.cycle.ledger().rows)
    assert (found.decisions, found.approved, found.unread) == (3, 3, 3)
    assert json.loads(akc(tmp_path, "ledger", "habits", "--format", "json").stdout)["fast"] == 3


def test_a_signature_is_asked_for_and_must_be_of_these_bytes_by_a_known_key(tmp_path: Path) -> None:
    from mklang.host.akc import person

    keys = tmp_path / "keys"
    keys.mkdir()
    for name in ("mine", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    (tmp_path / "signers").write_text(f"{person()} {(keys / 'mine.pub').read_text()}")
    world = made(tmp_path, config="signers: signers\n")
    proposed(world)
    without = Person(tmp_path, "review")
    assert without.leave() == 2
    assert "give --key" in without.seen
    wrong = Person(tmp_path, "review", "--key", str(keys / "other"))
    wrong.type(f"y {wrong.code_in(wrong.read())}")
    assert wrong.leave() == 1
    assert "does not count" in wrong.seen
    assert not (tmp_path / "CLAUDE.md").exists()
    right = Person(tmp_path, "review", "--key", str(keys / "mine"))
    right.type(f"y {right.code_in(right.read())}")
    assert right.leave() == 0, right.seen
    assert (tmp_path / "CLAUDE.md").exists()
    assert world.cycle.ledger().rows[-1].signature


def test_what_a_terminal_would_obey_is_shown_instead(tmp_path: Path) -> None:
    assert visible("a\x1b[2Jb\u202ec\u200bd\n") == "a\\x1b[2Jb\\u202ec\\u200bd\n"
    world = made(tmp_path)
    proposed(world, "hidden\x1b[1A\x1b[2K\u200b\n")
    assert "\\x1b[1A\\x1b[2K\\u200b" in approve(tmp_path)


def test_a_code_stands_beside_a_changed_line() -> None:
    lines = ["--- a", "+++ b", "@@", " same", "+new one", "-old one"]
    shown, code = with_code(lines, "n1")
    (marked,) = (line for line in shown if code in line)
    assert marked.startswith(("+new one", "-old one"))
    assert with_code(lines, "n2")[1] != code


DYING = """
import os, signal, sys
from pathlib import Path
from mklang.knowledge.approval import Approvals, Verdict
from mklang.knowledge.ledger import Event
from mklang.knowledge.terminal import Witness, _MAKER
from tests.knowledge.world import made

left = int(sys.argv[2])
world = made(Path(sys.argv[1]))
reals = {name: getattr(os, name) for name in ("write", "fsync", "replace", "rename")}

def dying(name):
    def call(*arguments, **more):
        global left
        left -= 1
        if left == 0:
            if name == "write":
                reals[name](arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return reals[name](*arguments, **more)
    return call

name = sys.argv[3]
content = (world.home.proposals / name / "new").read_bytes()
witness = Witness("me", "/dev/pts/0", 9.0, True, _MAKER)
for one in reals:
    setattr(os, one, dying(one))
world.cycle.approvals().decide(name, Verdict(event=Event.APPROVED, content=content, witness=witness))
print(left)
"""


def test_killed_anywhere_an_approval_is_done_once_or_open_again(tmp_path: Path) -> None:
    def run(folder: Path, dies_at: int, name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", DYING, str(folder), str(dies_at), name]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    def prepared(folder: str) -> tuple[World, str]:
        (tmp_path / folder).mkdir()
        world = made(tmp_path / folder)
        return world, proposed(world)

    world, name = prepared("whole")
    done = run(world.home.project, 10**6, name)
    assert done.returncode == 0, done.stderr
    points = 10**6 - int(done.stdout)
    assert points >= 8
    outcomes = set()
    for point in range(1, points + 1):
        world, name = prepared(f"at-{point}")
        assert run(world.home.project, point, name).returncode == -signal.SIGKILL
        world.cycle.approvals().settle()
        last = world.cycle.ledger().last_event(name)
        target = world.home.project / "CLAUDE.md"
        outcomes.add(last)
        assert target.exists() is (last is Event.APPROVED), (point, last)
        if target.exists():
            assert target.read_text() == "New text.\n"
        assert verify(world.home) == [], point
    assert outcomes >= {Event.PROPOSED, Event.ABANDONED, Event.APPROVED}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "accept",
        '{"verdict": "not accepted"}',
        '{"verdict": "accept"} {"verdict": "reject"}',
        '{"verdict": "maybe"}',
    ],
)
def test_a_judge_that_says_nothing_clear_says_nothing(reply: str) -> None:
    async def ask(_question: str) -> str:
        return reply

    judge = Judge(name="j", ask=ask, verdicts=("accept", "reject"))
    assert asyncio.run(judge.decide("?")) == Decision(None, asyncio.run(judge.decide("?")).why)


def test_several_rules_for_one_file_are_decided_one_after_the_other(tmp_path: Path) -> None:
    world = made(tmp_path)
    for text in ("Be kind.", "Be brief.", "Be exact."):
        assert akc(tmp_path, "propose", "--rule", text).returncode == 0
    person = Person(tmp_path, "review")
    shown = person.read()
    for _ in range(2):
        shown = person.type(f"y {person.code_in(shown)}")
        assert "is put up anew" in shown
    person.type(f"y {person.code_in(shown)}")
    assert person.leave() == 0
    assert [one.text for one in rules_in((tmp_path / "AGENTS.md").read_text())] == [
        "Be kind.",
        "Be brief.",
        "Be exact.",
    ]
    assert events(world).count("superseded") == 2
    assert verify(world.home) == []
    assert akc(tmp_path, "review", "--list").stdout == ""


def test_a_rule_that_is_there_by_now_is_not_put_up_again(tmp_path: Path) -> None:
    world = made(tmp_path)
    for _ in range(2):
        assert akc(tmp_path, "propose", "--rule", "Be kind.").returncode == 0
    approve_first = Person(tmp_path, "review")
    approve_first.type(f"y {approve_first.code_in(approve_first.read())}")
    assert approve_first.leave() == 1
    assert "is in the file already" in approve_first.seen
    assert events(world).count("approved") == 1
