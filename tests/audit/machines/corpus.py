"""Machines for the audit, in short: a case is a machine or several, what the host bound, and what must be found."""

from __future__ import annotations

from dataclasses import dataclass, field

OK = "[{ when: otherwise, then: ok, to: %s }]"


def draft(to: str = "send", gates: str = "", more: str = "", output: str = "note") -> str:
    """A generative state."""
    return _state("structure: a note\n    prompt: 'Write {{topic}}'", output, gates or OK % to, more)


def tool(name: str = "write_file", to: str = "END", value: str = "{{note}}", **more: str) -> str:
    """A tool state with one argument ``text``."""
    extra = more.get("more", "")
    return _state(
        f'tool: {name}\n    input: {{ text: "{value}" }}',
        more.get("output", "receipt"),
        more.get("gates") or OK % to,
        extra,
    )


def look(to: str = "send", output: str = "note") -> str:
    """A read-only tool."""
    return _state('tool: search\n    input: { q: "{{topic}}" }', output, OK % to, "")


def guard(to: str = "send", value: str = "{{note}}", output: str = "sound", more: str = "") -> str:
    """A guard state."""
    return _state(f'tool: guard\n    input: {{ guard: note, value: "{value}" }}', output, OK % to, more)


def call(machine: str, to: str = "END", value: str = "{{note}}", output: str = "done", more: str = "") -> str:
    """A call with one input ``text``."""
    return _state(f'call: {machine}\n    input: {{ text: "{value}" }}', output, OK % to, more)


def _state(kind: str, output: str, gates: str, more: str) -> str:
    extra = f"\n    {more}" if more else ""
    return f"{kind}\n    output: {output}{extra}\n    gates: {gates}"


def machine(name: str = "m", result: str = "", **states: str) -> str:
    """A machine; its first state is its entry."""
    body = "\n".join(f"  {key}:\n    {text}" for key, text in states.items())
    head = f"machine: {name}\nentry: {next(iter(states))}\nbudget: 20\ncontext: {{ topic: t, text: '', files: [a] }}\n"
    return head + (f"result: {result}\n" if result else "") + f"states:\n{body}\n"


@dataclass(frozen=True)
class Case:
    """``finds`` are codes with the state they are at."""

    title: str
    machines: tuple[str, ...]
    finds: tuple[tuple[str, str], ...] = ()
    bindings: str = ""
    vacuous: bool = False
    effects: dict[str, str] = field(default_factory=dict)


HOOK = "{ when: sound, hook: 'guard:note', then: ok, to: send }"
OWN_HOOK = "{ when: has a receipt, hook: has_receipt, then: ok, to: send }"
STOP = "{ when: otherwise, fail: true }"
ON = "{ when: otherwise, then: ok, to: send }"
JUDGED = "{ when: it is polite, then: ok, to: send }"

CASES = (
    # what must be found
    Case("draft, otherwise, write", (machine(d=draft(), send=tool()),), (("AK102", "send"),)),
    Case("judged", (machine(d=draft(gates=f"[{JUDGED}, {STOP}]"), send=tool()),), (("AK102", "send"),)),
    Case("an unrelated hook", (machine(d=draft(gates=f"[{OWN_HOOK}, {STOP}]"), send=tool()),), (("AK102", "send"),)),
    Case("a hook and a way past it", (machine(d=draft(gates=f"[{HOOK}, {ON}]"), send=tool()),), (("AK104", "send"),)),
    Case("parse is no check", (machine(d=draft(more="parse: json"), send=tool()),), (("AK102", "send"),)),
    Case(
        "a path into the value",
        (machine(d=draft(more="parse: json"), send=tool(value="{{note.a.b}}")),),
        (("AK102", "send"),),
    ),
    Case("amid other text", (machine(d=draft(), send=tool(value="Dear all, {{note}} bye")),), (("AK102", "send"),)),
    Case(
        "the guard stands on another state's gate",
        (machine(d=draft(to="e"), e=draft(output="other", gates=f"[{HOOK}, {STOP}]"), send=tool()),),
        (("AK102", "send"),),
    ),
    Case(
        "a guard state looks at another value",
        (machine(d=draft(to="e"), e=draft(output="other", to="g"), g=guard(value="{{other}}"), send=tool()),),
        (("AK102", "send"),),
    ),
    Case(
        "the value is written again after the guard",
        (machine(d=draft(gates=f"[{HOOK.replace('send', 'e')}, {STOP}]"), e=draft(), send=tool()),),
        (("AK102", "send"),),
    ),
    Case(
        "written again on one of two ways",
        (
            machine(
                d=draft(gates=f"[{HOOK}, {JUDGED.replace('send', 'e')}, {STOP}]"),
                e=draft(),
                send=tool(),
            ),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "only the later of two drafts is guarded",
        (
            machine(
                d=draft(gates=f"[{JUDGED}, {{ when: otherwise, then: ok, to: e }}]"),
                e=draft(gates=f"[{HOOK}, {STOP}]"),
                send=tool(),
            ),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "an accumulated list with an unguarded element",
        (
            machine(
                d=draft(to="e", more="accumulate: true"),
                e=draft(gates=f"[{HOOK}, {STOP}]", more="accumulate: true"),
                send=tool(),
            ),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "the items of a list",
        (machine(d=draft(more="parse: list"), send=tool(value="{{item}}", more='over: "{{note}}"')),),
        (("AK102", "send"),),
    ),
    Case(
        "a part of each item",
        (machine(d=draft(more="parse: list"), send=tool(value="{{item.body}}", more='over: "{{note}}"')),),
        (("AK102", "send"),),
    ),
    Case("a fan-out of drafts", (machine(d=draft(more="sample: 3"), send=tool()),), (("AK102", "send"),)),
    Case(
        "a draft made from a guarded draft is a draft",
        (
            machine(
                d=draft(gates=f"[{HOOK.replace('send', 'e')}, {STOP}]"),
                e=draft(output="short"),
                send=tool(value="{{short}}"),
            ),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "round a loop",
        (
            machine(
                d=draft(gates=f"[{HOOK}, {STOP}]"),
                send=tool(gates="[{ when: again, then: ok, to: e }, { when: otherwise, then: ok, to: END }]"),
                e=draft(to="send"),
            ),
        ),
        (("AK102", "send"),),
    ),
    Case("what a tool observed", (machine(l=look(), send=tool()),), (("AK111", "send"),)),
    Case("a shell", (machine(d=draft(), send=tool("run_shell")),), (("AK103", "send"),)),
    Case(
        "a host says that a known reader acts",
        (machine(d=draft(), send=tool("search")),),
        (("AK102", "send"),),
        effects={"search": "effect"},
    ),
    Case(
        "a callee that acts on its input",
        (machine(d=draft(), send=call("post")), machine("post", s=tool(value="{{text}}"))),
        (("AK102", "send"),),
    ),
    Case(
        "three calls deep",
        (
            machine(d=draft(), send=call("a")),
            machine("a", x=call("b", value="{{text}}")),
            machine("b", y=call("post", value="{{text}}")),
            machine("post", s=tool(value="{{text}}")),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "a callee that writes",
        (
            machine(c=call("writer", to="send", value="x", output="note"), send=tool()),
            machine("writer", d=draft(to="END")),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "a callee that hands its input back",
        (
            machine(d=draft(to="c"), c=call("echo", to="send", output="copy"), send=tool(value="{{copy}}")),
            machine("echo", result="text", s=look(to="END", output="seen")),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "a draft inside the callee",
        (machine(send=call("post", value="x")), machine("post", d=draft(), send=tool())),
        (("AK102", "send"),),
    ),
    Case(
        "callees that call each other",
        (
            machine(d=draft(), send=call("a")),
            machine("a", x=call("b", value="{{text}}")),
            machine("b", y=call("a", to="z", value="{{text}}"), z=tool(value="{{text}}")),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "the guard has no opinion",
        (machine(d=draft(gates=f"[{HOOK}, {STOP}]"), send=tool()),),
        (("AK106", "d"), ("AK102", "send")),
        vacuous=True,
    ),
    Case(
        "the bound guard has no opinion",
        (machine(d=draft(), send=tool()),),
        (("AK102", "send"), ("AK106", "send")),
        "tool:write_file: note",
        vacuous=True,
    ),
    Case(
        "another argument is bound",
        (machine(d=draft(), send=tool().replace("text:", "name: x, text:")),),
        (("AK102", "send"),),
        "m.send.input.name: note",
    ),
    Case("another tool is bound", (machine(d=draft(), send=tool()),), (("AK102", "send"),), "tool:send_mail: note"),
    Case(
        "a guard fan-out loses what it refuses and lets the list go on",
        (
            machine(
                d=draft(to="g", more="parse: list"), g=guard(value="{{item}}", more='over: "{{note}}"'), send=tool()
            ),
        ),
        (("AK102", "send"),),
    ),
    Case(
        "a part is checked and the whole is used",
        (machine(d=draft(to="g", more="parse: json"), g=guard(value="{{note.a}}"), send=tool()),),
        (("AK102", "send"),),
    ),
    # what must stay silent
    Case("the author's own words", (machine(send=tool(value="{{topic}}")),)),
    Case("a reader", (machine(d=draft(), send=tool("search")),)),
    Case("a tool that a host says only looks", (machine(d=draft(), send=tool()),), effects={"write_file": "read"}),
    Case("bound on the input", (machine(d=draft(), send=tool()),), bindings="m.send.input.text: note"),
    Case("bound on the tool", (machine(d=draft(), send=tool()),), bindings="tool:write_file: note"),
    Case("bound on the output", (machine(d=draft(), send=tool()),), bindings="m.d.output: note"),
    Case("a guard on the gate", (machine(d=draft(gates=f"[{HOOK}, {STOP}]"), send=tool()),)),
    Case(
        "a guard on the gate, else repair",
        (machine(d=draft(gates=f"[{HOOK}, {{ when: otherwise, repair: 2, to: d }}]"), send=tool()),),
    ),
    Case(
        "a guard state, its canonical value used", (machine(d=draft(to="g"), g=guard(), send=tool(value="{{sound}}")),)
    ),
    Case("a guard state, the value itself used", (machine(d=draft(to="g"), g=guard(), send=tool()),)),
    Case(
        "a guard state, a part of its value used",
        (machine(d=draft(to="g", more="parse: json"), g=guard(value="{{note.a}}"), send=tool(value="{{note.a.b}}")),),
    ),
    Case(
        "all accumulated elements guarded",
        (
            machine(
                d=draft(gates=f"[{HOOK.replace('send', 'e')}, {STOP}]", more="accumulate: true"),
                e=draft(gates=f"[{HOOK}, {STOP}]", more="accumulate: true"),
                send=tool(),
            ),
        ),
    ),
    Case(
        "a guarded list's items",
        (
            machine(
                d=draft(gates=f"[{HOOK}, {STOP}]", more="parse: list"),
                send=tool(value="{{item}}", more='over: "{{note}}"'),
            ),
        ),
    ),
    Case(
        "a fan-out through a guard, its results used",
        (
            machine(
                d=draft(to="g", more="parse: list"),
                g=guard(value="{{item}}", more='over: "{{note}}"'),
                send=tool(value="{{sound}}"),
            ),
        ),
    ),
    Case(
        "written over by the author's tool result",
        (machine(d=draft(to="c"), c=tool("calc", to="send", value="1+1", output="note"), send=tool()),),
        finds=(("AK111", "send"),),
    ),
    Case(
        "a branch's number",
        (machine(d=draft(more="parse: list"), send=tool(value="{{index}}", more='over: "{{note}}"')),),
    ),
    Case("a draft that reaches nothing", (machine(d=draft(to="END"), send=tool()),)),
    Case(
        "guarded in the callee",
        (machine(d=draft(), send=call("post")), machine("post", s=tool(value="{{text}}"))),
        bindings="post.s.input.text: note",
    ),
    Case(
        "a guard state in the callee",
        (
            machine(d=draft(), send=call("post")),
            machine("post", g=guard(to="s", value="{{text}}"), s=tool(value="{{text}}")),
        ),
    ),
    Case(
        "guarded before the call",
        (machine(d=draft(gates=f"[{HOOK}, {STOP}]"), send=call("post")), machine("post", s=tool(value="{{text}}"))),
    ),
    Case(
        "a callee whose writing is guarded inside",
        (
            machine(c=call("writer", to="send", value="x", output="note"), send=tool()),
            machine(
                "writer",
                d=draft(
                    gates="[{ when: sound, hook: 'guard:note', then: ok, to: END }, { when: otherwise, fail: true }]"
                ),
            ),
        ),
    ),
    Case("a callee that only reads its input", (machine(d=draft(), send=call("r")), machine("r", s=look(to="END")))),
    Case(
        "the index of a call",
        (machine(d=draft(to="END"), send=call("post", value="x")), machine("post", s=tool(value="{{text}}"))),
    ),
    Case("an unknown callee", (machine(d=draft(), send=call("nowhere")),)),
)
