"""What ``--fix`` and ``--diff`` do for ``check`` and ``lint``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, complain, printable
from mklang.host.fixing import Fixed, fix
from mklang.host.inspection import Inspector, Looking, machine_files
from mklang.host.rewriting import difference, write_back


def fixed(files: Sequence[str], looking: Looking) -> Iterator[Fixed]:
    """Every readable file with its safe fixes made, nothing written yet."""
    inspector = Inspector(looking)
    for one in inspector.inspect_all(one for one in machine_files(files) if isinstance(one, str)):
        done = fix(inspector, one)
        for refused in done.refused:
            complain(f"{one.path}: not repaired: {refused}", label="warning")
        yield done


def repair(files: Sequence[str], looking: Looking) -> int:
    """Make the safe fixes and write them; how many there were."""
    repaired = 0
    for one in fixed(files, looking):
        if one.text is not None and one.source is not None:
            write_back(one.inspected.path, one.source, one.text)
            repaired += len(one.repaired)
    return repaired


def show(files: Sequence[str], looking: Looking, out: Output) -> int:
    """What ``--fix`` would change. Exit code 1 when there is something."""
    changed = False
    for one in fixed(files, looking):
        if one.text is None or one.source is None:
            continue
        changed = True
        for line in difference(one.inspected.path, one.source.text, one.text):
            out.say(out.ink(printable(line), {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])))
    return ExitCode.FAILED if changed else ExitCode.OK
