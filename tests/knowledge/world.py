"""A cycle to try things on: a clock that ticks, models that answer what a test says, a person at a real terminal."""

from __future__ import annotations

import io
import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mklang.cli.main import main
from mklang.host.akc import Cycle, make_cycle
from mklang.host.seam import Seam
from mklang.knowledge.config import read_config
from mklang.knowledge.distil import Choice, Distillation, Distiller, Stage
from mklang.knowledge.home import Home
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.record import Origin
from mklang.knowledge.terminal import AGENT_VARIABLES
from mklang.patterns import Attempt

NOON = datetime(2025, 12, 1, 12, 0, 0, tzinfo=UTC)
TESTS_FIRST = "The tests must pass before a commit."
FOUND = json.dumps([{"pattern": TESTS_FIRST, "importance": 0.9, "category": "important"}])


class Ticking:
    """A clock that goes on by a second whenever it is read; ``now`` can be set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class Worker:
    """Gives its replies in turn, the last one for ever; remembers what it was asked."""

    replies: list[str | BaseException]
    asked: list[Attempt] = field(default_factory=list)

    async def __call__(self, attempt: Attempt) -> str:
        self.asked.append(attempt)
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


@dataclass
class World:
    """A home with everything around it."""

    home: Home
    clock: Ticking
    reflect: Worker
    format: Worker
    nonces: Iterator[str]

    @property
    def cycle(self) -> Cycle:
        seam = Seam(now=self.clock, nonce=lambda: next(self.nonces))
        return Cycle(home=self.home, config=read_config(self.home), seam=seam)

    @property
    def calls(self) -> int:
        return len(self.reflect.asked) + len(self.format.asked)

    def log(self) -> EpisodeLog:
        return self.cycle.log()

    def happened(self, *texts: str, origin: Origin = Origin.OBSERVED, session: str = "s1") -> None:
        with self.log() as log:
            for text in texts:
                log.append("observation", {"text": text}, origin, session=session)

    async def distil(self, choice: Choice | None = None) -> Distillation:
        cycle = self.cycle
        with cycle.log() as log:
            pipeline = Distiller(
                home=self.home,
                store=cycle.store(),
                log=log,
                reflect=Stage(worker=self.reflect, identity="reflect"),
                format=Stage(worker=self.format, identity="format"),
                model="scripted",
            )
            return await pipeline.run(cycle.choose(choice or Choice()))


def made(folder: Path, *, reflect: Any = "Tests matter.", form: Any = FOUND, config: str = "") -> World:
    """A new home in a folder."""
    home = make_cycle(folder)
    if config:
        home.config.write_text(config)
    return World(
        home=home,
        clock=Ticking(),
        reflect=Worker(reflect if isinstance(reflect, list) else [reflect]),
        format=Worker(form if isinstance(form, list) else [form]),
        nonces=(f"{number:06x}{'f' * 26}" for number in range(1, 10_000)),
    )


def plain_environment(**more: str) -> dict[str, str]:
    """An environment without an agent in it."""
    kept = {name: value for name, value in os.environ.items() if name not in AGENT_VARIABLES}
    return {**kept, "TERM": "dumb", "NO_COLOR": "1", **more}


PROMPT = b"decide> "
_SIT_DOWN = (
    "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR));"  # the first terminal a session opens controls it
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class Person:
    """A person at a pseudo-terminal in front of ``mklang akc …``."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        environment: dict[str, str] | None = None,
        script: list[str] | None = None,
    ) -> None:
        """``script`` is a Python program to sit in front of instead."""
        self.seen = ""
        self._master, slave = os.openpty()
        command = [sys.executable, "-c", _SIT_DOWN, *(script or ["-m", "mklang.cli.main", "akc", *arguments])]
        environ = environment or plain_environment()
        self.process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    def read(self) -> str:
        """What the terminal shows up to the next question, or to the end."""
        got = b""
        while not got.endswith(PROMPT):
            if not select.select([self._master], [], [], 120)[0]:
                raise AssertionError(f"nothing more came after {got!r}")
            try:
                part = os.read(self._master, 65_536)
            except OSError:  # the program is gone
                part = b""
            if not part:
                break
            got += part
        text = got.decode("utf-8", "replace").replace("\r\n", "\n")
        self.seen += text
        return text

    def type(self, text: str) -> str:
        """Type a line; what is shown then."""
        os.write(self._master, text.encode() + b"\n")
        return self.read()

    def leave(self) -> int:
        """Wait for the end; the exit code."""
        while self.read():
            pass
        code = self.process.wait()
        os.close(self._master)
        return code

    @staticmethod
    def code_in(text: str) -> str:
        """The code that stands in what is shown."""
        found = re.findall(r"‹code ([0-9a-f]+)›", text)
        assert len(found) == 1, text
        return str(found[0])


def approve(folder: Path, *names: str) -> str:
    """Let a person approve what waits, one proposal; returns everything that was shown."""
    person = Person(folder, "review", *names)
    person.type(f"y {person.code_in(person.read())}")
    assert person.leave() == 0, person.seen
    return person.seen


def akc(folder: Path, *arguments: str, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``mklang akc …`` in a folder: in this process, or in one of its own where an environment is given."""
    command = [sys.executable, "-m", "mklang.cli.main", "akc", *arguments]
    if environment:
        environ = plain_environment(**environment)
        return subprocess.run(command, cwd=folder, env=environ, input=text, capture_output=True, text=True, check=False)
    before, out, error = Path.cwd(), io.StringIO(), io.StringIO()
    kept = {name: os.environ.pop(name) for name in AGENT_VARIABLES if name in os.environ}
    stdin, sys.stdin = sys.stdin, io.StringIO(text)
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(error):
            code = main(["akc", *arguments])
    finally:
        sys.stdin = stdin
        os.chdir(before)
        os.environ.update(kept)
    return subprocess.CompletedProcess(command, int(code), out.getvalue(), error.getvalue())
