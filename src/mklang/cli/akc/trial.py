"""``mklang akc trial``: is a task structural or semantic? Ask both and count."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.model_flags import ModelFlags, model_options
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import AnswerFailed, UsageError
from mklang.knowledge.trial import Example, answers_of, judge, to_wire


class Flags(ModelFlags):
    """How the machine is asked, and what is enough."""

    key: str
    threshold: float


@click.command(short_help="Is a task structural or semantic? Code and a machine on the same labelled examples.")
@click.argument("examples")
@click.option("--code", "code", required=True, metavar="FILE.py:FUNCTION", help="The function: input to label.")
@click.option("--machine", required=True, metavar="FILE", help="The machine: its result is the label.")
@click.option("--key", default="input", show_default=True, help="The context key that gets the input.")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.9, show_default=True, help="What is right enough.")
@model_options
@output_options(json_when_piped=False)
def command(examples: str, *, code: str, machine: str, out: Output, **flags: Unpack[Flags]) -> int:
    """Give each of EXAMPLES ({"input": …, "label": …} a line, ten or more) to a function and to a machine, and say what
    the task is: structural, semantic or neither. The function is loaded and run: it is your own code."""
    listed = _examples(Path(examples))
    by_code = answers_of(_function(code), listed)
    by_machine = asyncio.run(_by_machine(listed, Path(machine), flags))
    found = judge(listed, by_code, by_machine, threshold=flags["threshold"])
    if out.json:
        out.wire({"command": "akc trial", "ok": True, **to_wire(found)})
        return ExitCode.OK
    out.say(f"{out.ink(found.verdict.value, bold=True)}: {found.why}")
    out.say(f"  code {found.code_right} of {found.examples}; machine {found.machine_right} of {found.examples}")
    out.say(f"  the machine's share is {found.low:.0%} to {found.high:.0%} (95 %)")
    for who, wrong, said in (("code", found.code_wrong, by_code), ("machine", found.machine_wrong, by_machine)):
        for number in wrong[:3]:
            told, label = one_line(str(said[number]), 60), one_line(str(listed[number].label), 60)
            out.say(f"  {who} said {told!r} in line {number + 1}, right is {label!r}")
    return ExitCode.OK


def _examples(path: Path) -> list[Example]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=Example))
            except msgspec.MsgspecError as error:
                raise UsageError(f"{path}:{number}: {error}") from error
    return found


def _function(text: str) -> Callable[[Any], Any]:
    file, colon, name = text.rpartition(":")
    if not colon or not Path(file).is_file():
        raise UsageError(f"--code {text!r}: write --code FILE.py:FUNCTION, with a file that is there")
    spec = importlib.util.spec_from_file_location("akc_trial_code", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"--code {text!r}: no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        raise UsageError(f"--code {text!r}: there is no function '{name}' in it")
    return found  # type: ignore[no-any-return]  # looked at above


async def _by_machine(examples: Sequence[Example], machine: Path, flags: Flags) -> list[Any]:
    from mklang.host.akc_models import Asking, stage_of  # the clients of models cost more than the rest together
    from mklang.patterns import Attempt, Task

    session = Asking.of(flags).session(machine)
    if flags["key"] not in session.machine.context:
        raise UsageError(f"machine '{session.machine.name}' has no context key '{flags['key']}' (--key)")
    worker = stage_of(session).worker
    found: list[Any] = []
    try:
        for number, one in enumerate(examples):
            try:
                found.append(await worker(Attempt(Task(f"{number}", {flags["key"]: one.input}), 1)))
            except AnswerFailed as failed:
                found.append(failed)
    finally:
        await session.close()
    return found
