"""Write the pages of the documentation that follow from code: machines, commands, configuration, how a run ends, ADRs.

``python scripts/make_pages.py`` writes them into ``docs/``, pictures included; ``--check`` writes nothing and exits 1
when one of them is not what it would be. The rules' pages have their own maker, ``mklang.analysis.catalogue``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from api_page import api_page

from mklang.charts.svg import to_svg
from mklang.cli.main import COMMANDS, cli
from mklang.engine.outcome import Reason
from mklang.host.drawing import draw_machine
from mklang.host.layers import BUNDLED
from mklang.host.listing import Listed, list_machines
from mklang.lang.models import Fail, Machine
from mklang.testing.reading import load_scenarios

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TIERS = {"fast", "balanced", "reasoning"}
_COMMENT = re.compile(r"\A(#[^\n]*\n)+")


def pages() -> dict[str, str]:
    """Every generated page by its path below ``docs``."""
    machines = [one for one in list_machines(str(BUNDLED)) if one.path.parent == BUNDLED]
    return {
        "machines/index.md": machine_index(machines),
        **{f"machines/{one.name}.md": machine_page(one) for one in machines},
        "reference/api.md": api_page(),
        "reference/commands.md": command_page(),
        "reference/configuration.md": configuration_page(),
        "reference/halt-reasons.md": reasons_page(),
        "adr/index.md": decisions_page(),
    }


def pictures() -> dict[str, str]:
    """The pictures of the machines; laid out by Graphviz, so not the same to the byte everywhere."""
    found = {f"machines/img/{name}.svg": str(BUNDLED / f"{name}.mkl") for name in sorted(names())}
    found["img/one_line.svg"] = str(DOCS / "img/one_line.mkl")
    return {path: drawn(machine) for path, machine in found.items()}


def names() -> list[str]:
    """The names of the machines that come with mklang."""
    return [path.stem for path in BUNDLED.glob("*.mkl")]


def drawn(machine: str) -> str:
    """A machine's picture."""
    return to_svg(draw_machine(machine, depth=1, run=None, folder=Path()).chart)


def machine_index(machines: list[Listed]) -> str:
    """The list of the machines that come with mklang."""
    rows = [
        f"| [`{one.name}`]({one.name}.md) | {one.purpose} | {', '.join(f'`{key}`' for key in one.inputs)} |"
        for one in machines
    ]
    return "\n".join(
        [
            "# Machines that come with mklang",
            "",
            "They are in every project without being copied: `mklang run std_refine` runs one by name, a state with",
            "`call: std_refine` calls one, `mklang new my_refine --from std_refine` makes a copy with its scenarios to",
            "change. Your own machine of the same name takes its place, and a warning says so.",
            "",
            "All take a `task` and give an `answer`. None reports success for an answer that failed its check: such a",
            "run ends as [`gate-fail`](../reference/halt-reasons.md), and its text is in the trace. None ends on",
            "its step budget after its work was paid for: lists are counted by [`std_map`](std_map.md), which runs",
            "nothing at all when there are more elements than its budget allows.",
            "",
            "| machine | what it does | takes |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def machine_page(one: Listed) -> str:
    """One machine: what it does, what it takes, how it ends, what is tested, its text."""
    machine = one.machine
    assert machine is not None
    text = one.path.read_text("utf-8")
    scenarios = load_scenarios(str(one.path.with_name(f"{one.name}.test.yaml"))).entries
    guard = one.path.with_name(f"{one.name}.guard.yaml")
    lines = [
        f"# {one.name}",
        "",
        one.about,
        "",
        f"![{one.name}](img/{one.name}.svg){{ .machine }}",
        "",
        "```console",
        *_examples(text),
        "```",
        "",
        "## What it takes and gives",
        "",
        "| key | when nothing is given |",
        "|---|---|",
        *[f"| `{key}` | {_default(value)} |" for key, value in one.inputs.items()],
        "",
        f"The result is `{machine.result}`. A run takes at most {machine.budget} steps"
        + (", one for each element." if one.name == "std_map" else "; called machines count their own."),
        "",
        "## How it ends",
        "",
        *_endings(machine),
        "",
        "## What its scenarios show",
        "",
        *[f"- {scenario.name}" for scenario in scenarios],
        "",
        "## The machine",
        "",
        "```yaml",
        _COMMENT.sub("", text).rstrip(),
        "```",
        "",
    ]
    if guard.is_file():
        lines += ["Its guard:", "", "```yaml", _COMMENT.sub("", guard.read_text("utf-8")).rstrip(), "```", ""]
    return "\n".join(lines)


def _examples(text: str) -> list[str]:
    return [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   mklang")]


def _default(value: object) -> str:
    return "nothing" if value in ("", None, []) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _endings(machine: Machine) -> Iterator[str]:
    for state in machine.states.values():
        for gate in state.gates:
            other = gate.when.casefold() == "otherwise"
            when = ", when nothing else held" if other else f", when {gate.when}"
            when = "" if other and len(state.gates) == 1 else when
            if gate.target == "END":
                yield f"- **done** after `{state.id}`{when}" + _by(gate)
            elif isinstance(gate.policy, Fail):
                yield f"- **gate-fail** at `{state.id}`{when}" + _by(gate)


def _by(gate: Any) -> str:
    hook = getattr(gate.condition, "name", None)
    return f" (`{hook}`)" if hook else ""


def command_page() -> str:
    """Every command with its options, from the help that the program shows."""
    lines = [
        "# Commands",
        "",
        "What `mklang --help` and `mklang COMMAND --help` say. Exit codes: 0 in order, 1 halted or found wanting, 2",
        "could not be done, 3 waits for somebody, 130 interrupted. `MKLANG_DEBUG=1` shows where an unexpected error",
        "happened.",
        "",
        "| command | what for |",
        "|---|---|",
        *[f"| [`{name}`](#{name}) | {entry.purpose} |" for name, entry in COMMANDS.items()],
        "",
    ]
    for name, entry in COMMANDS.items():
        lines += [f"## {name}", "", *_helped(import_module(entry.module).command, f"mklang {name}")]
    return "\n".join(lines)


def _helped(command: click.Command, path: str) -> Iterator[str]:
    parent = click.Context(cli, info_name="mklang", **cli.context_settings)
    context = click.Context(command, info_name=path.removeprefix("mklang "), parent=parent, max_content_width=92)
    context.terminal_width = 92
    yield from ("```text", command.get_help(context).rstrip(), "```", "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from (f"### {path.removeprefix('mklang ')} {name}", "")
                yield from _helped(inner, f"{path} {name}")


def configuration_page() -> str:
    """Every key of ``runtime.yaml``, from its schema."""
    schema = json.loads((ROOT / "src/mklang/host/starter/config/runtime.schema.json").read_text("utf-8"))
    lines = [
        "# Configuration",
        "",
        "`runtime.yaml` says which models answer, which back-ends tools use, which plug-ins count. `mklang init`",
        "writes one with its schema beside it, so that an editor completes it; `mklang doctor` says which one counts,",
        "and why. More: [configuration and trust](../guides/configuration.md), [models](../guides/models.md),",
        "[tools](../guides/tools.md).",
        "",
        "| key | value | meaning |",
        "|---|---|---|",
        *_keys("", schema),
        "",
    ]
    return "\n".join(lines)


def _keys(path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    for name, value in schema.get("properties", {}).items():
        yield from _key(f"{path}.{name}".lstrip("."), value)
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict) and "properties" in inner:
        yield from _keys(f"{path}.NAME", inner)


def _key(path: str, value: Mapping[str, Any]) -> Iterator[str]:
    if "description" in value:
        yield f"| `{path}` | {_kind(value)} | {value['description']} |"
    options = [value, *value.get("anyOf", ())]
    seen: set[str] = set()
    for option in options:
        inner = option.get("additionalProperties")
        if isinstance(inner, dict) and "properties" in inner:
            yield from _keys(f"{path}.NAME", inner)
        if option.get("type") == "object" and set(option.get("properties", ())) - seen - {
            "fast",
            "balanced",
            "reasoning",
        }:
            seen |= set(option["properties"])
            yield from _keys(path, option)
        elif option.get("items", {}).get("type") == "object":
            yield from _keys(f"{path}[]", option["items"])


def _kind(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_kind(one) for one in value["anyOf"]))
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_kind(value['items'])}" if "type" in value.get("items", {}) else "list"
    return "map" if kind == "object" else words.get(kind, kind)


def reasons_page() -> str:
    """Every reason a run can end with."""
    rows = [f"| `{one.value}` | {one.summary} | {one.hint} |" for one in Reason]
    return "\n".join(
        [
            "# How a run ends",
            "",
            "A run ends in a value and never in an exception: `done`, `halt` with a reason, or `suspended` with what",
            "it waits for. The reason stands under `error`, sometimes with a detail behind a colon; `at` names the",
            "state. Nothing that was paid for is lost: `mklang resume RUN` goes on from the journal, and",
            "`mklang runs show RUN` shows it.",
            "[When a run stops](../guides/when-a-run-stops.md) says how to find out why.",
            "",
            "| reason | what happened | what to do |",
            "|---|---|---|",
            *rows,
            "",
            "The exact rules are in [the language, L66 to L69](../language.md#5-how-a-run-ends).",
            "",
        ]
    )


def decisions_page() -> str:
    """The list of the ADRs."""
    rows = []
    for path in sorted((DOCS / "adr").glob("[0-9]*.md")):
        title = path.read_text("utf-8").splitlines()[0].removeprefix("# ")
        rows.append(f"- [{title}]({path.name})")
    return "\n".join(["# Decisions", "", "Why things are as they are, one page a decision.", "", *rows, ""])


def main(check: bool) -> int:
    """Write or compare."""
    wanted = pages() | ({} if check else pictures())
    wrong = 0
    for name, text in wanted.items():
        path = DOCS / name
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        if check:
            sys.stderr.write(f"docs/{name} is not what the code says; run scripts/make_pages.py\n")
            wrong = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--check"]))
