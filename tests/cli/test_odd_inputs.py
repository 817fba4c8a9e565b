"""Every odd input that people write and older readers take: what ``lint`` says of it, and at which line and column.

One table. ``TRIED`` are whole-document mistakes, ``UNQUOTED`` what YAML does to text nobody quoted. A sign before the
code tells warnings (~) and notes (?) from errors; an empty list is a document that is fine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main

GOOD = """\
mklang: "0.4"
machine: m
entry: a
budget: 5
context: { t: "" }
states:
  a:
    structure: One line.
    prompt: "Say {{t}}."
    output: o
    gates:
      - { when: it is short, repair: 2, to: a }
      - { when: otherwise, then: ok, to: END }
"""
PROMPT = '"Say {{t}}."'
OTHERWISE = "{ when: otherwise, then: ok, to: END }"
SHORT = "{ when: it is short, repair: 2, to: a }"


def put(old: str, new: str) -> str:
    """The good document with something else in one place."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def line(new: str) -> str:
    """The good document with one more line in its state."""
    return put("    output: o\n", f"    output: o\n    {new}\n")


def free(value: str) -> str:
    """The good document with a value of the author's own that its prompt reads."""
    return put('t: ""', f"t: {value}")


DEEP = "context: { t: " + "[" * 3000 + "]" * 3000 + " }\n"
BOMB = "context:\n  t: &x0 [a, a, a, a, a, a, a, a, a]\n" + "".join(
    f"  k{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
TRIED: dict[str, tuple[str | bytes, list[str]]] = {
    "an empty file": ("", ["not-a-machine -"]),
    "a list at the root": ("- a\n", ["not-a-machine 1:1"]),
    "a scalar at the root": ("just text\n", ["not-a-machine 1:1"]),
    "a top-level key twice": (put("budget: 5\n", "budget: 5\nbudget: 6\n"), ["duplicate-key 5:1"]),
    "a state twice": (
        put("  a:\n", "  a: {}\n  a:\n"),
        ["missing-key 7:3", "missing-key 7:3", "missing-key 7:3", "duplicate-key 8:3"],
    ),
    "a tab": (put("  a:\n", "\ta:\n"), ["yaml-syntax 7:1"]),
    "latin 1": (put("One line.", "Één").encode("latin-1"), ["not-utf8 8:16"]),
    "utf 16": (GOOD.encode("utf-16"), ["not-utf8 1:1"]),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), []),
    "carriage returns": (GOOD.replace("\n", "\r\n"), []),
    "a control character": (put("One line.", "One\x01line."), ["bad-character 8:19"]),
    "an escaped null": (put("One line.", '"One\\0line."'), []),
    "half a character": (put("One line.", "One \ud800 line."), ["not-utf8 8:20"]),
    "half a character, escaped": (put("One line.", '"One \\ud800 line."'), ["yaml-syntax 8:23"]),
    "a budget of 5,000 digits": (put("budget: 5", "budget: " + "9" * 5000), ["bad-value 4:9"]),
    "a budget with a decimal point": (put("budget: 5", "budget: 5.0"), []),
    "a budget with a leading zero": (put("budget: 5", "budget: 010"), ["wrong-type 4:9"]),
    "a budget with a colon": (put("budget: 5", "budget: 1:30"), ["wrong-type 4:9"]),
    "a budget with an underscore": (put("budget: 5", "budget: 1_000"), ["wrong-type 4:9"]),
    "a negative budget": (put("budget: 5", "budget: -1"), ["bad-value 4:9"]),
    "a budget of nothing": (put("budget: 5", "budget: 0"), ["bad-value 4:9"]),
    "a budget that is true": (put("budget: 5", "budget: true"), ["wrong-type 4:9"]),
    "a budget in quotes": (put("budget: 5", 'budget: "5"'), ["wrong-type 4:9"]),
    "a budget with an exponent": (put("budget: 5", "budget: 1e3"), ["wrong-type 4:9"]),
    "a sample of none": (line("sample: 0"), ["bad-value 11:13"]),
    "a sample of one": (line("sample: 1"), ["bad-value 11:13"]),
    "sample and over": (
        line("sample: 2").replace("    sample: 2\n", '    sample: 2\n    over: "{{t}}"\n'),
        ["conflicting-keys 12:5"],
    ),
    "over a list in the document": (line("over: [1, 2]"), ["wrong-type 11:11"]),
    "over plain text": (line("over: hello"), ["over-expression 11:11"]),
    "over two placeholders": (line('over: "{{t}} {{t}}"'), ["over-expression 11:11"]),
    "no gates": (GOOD[: GOOD.index("    gates:")] + "    gates: []\n", ["bad-value 11:12"]),
    "gates as a map": (GOOD[: GOOD.index("    gates:")] + "    gates: " + OTHERWISE + "\n", ["wrong-type 11:12"]),
    "a gate without a policy": (put(SHORT, "{ when: it is short, to: a }"), ["missing-key 12:9"]),
    "a gate with two policies": (
        put(SHORT, "{ when: it is short, then: ok, repair: 2, to: a }"),
        ["conflicting-keys 12:40"],
    ),
    "a fail gate with a target": (put(SHORT, "{ when: it is short, fail: true, to: a }"), ["conflicting-keys 12:42"]),
    "a gate without a target": (put(SHORT, "{ when: it is short, repair: 2 }"), ["missing-key 12:9"]),
    "a gate to null": (put(SHORT, "{ when: it is short, repair: 2, to: null }"), ["wrong-type 12:45"]),
    "no repairs": (put(SHORT, "{ when: it is short, repair: 0, to: a }"), ["bad-value 12:38"]),
    "repairs in quotes": (put(SHORT, '{ when: it is short, repair: "2", to: a }'), ["wrong-type 12:38"]),
    "an escalate gate that is none": (put(SHORT, "{ when: it is short, escalate: false, to: a }"), ["bad-value 12:40"]),
    "a question on an ok gate": (put(SHORT, "{ when: it is short, then: ok, ask: Why?, to: a }"), ["wrong-kind 12:40"]),
    "no visits": (line("max_visits: 0"), ["bad-value 11:17"]),
    "then: yes": (put("then: ok", "then: yes"), ["bad-value 13:34"]),
    "when: yes": (put("when: it is short", "when: yes"), []),
    "a state called on": (
        GOOD.replace("entry: a", "entry: on").replace("  a:", "  on:").replace("to: a", "to: on"),
        [],
    ),
    "a state called no": (
        GOOD.replace("entry: a", 'entry: "no"').replace("  a:", "  no:").replace("to: a", "to: no"),
        [],
    ),
    "a state called 1": (
        GOOD.replace("entry: a", 'entry: "1"').replace("  a:", "  1:").replace("to: a", 'to: "1"'),
        [],
    ),
    "an end in small letters": (put("to: END", "to: end"), ["target-unknown 13:42"]),
    "a state called END": (
        GOOD + "  END:\n    structure: s\n    prompt: p\n    output: q\n    gates: [" + OTHERWISE + "]\n",
        ["bad-value 14:3"],
    ),
    "an entry called END": (put("entry: a", "entry: END"), ["entry-unknown 3:8"]),
    "a key that no state has": (line("promt: x"), ["unknown-key 11:5"]),
    "two kinds in one state": (line("tool: calc"), ["wrong-kind 8:5", "wrong-kind 9:5"]),
    "a tier on a tool": (
        put(
            "    structure: One line.\n    prompt: " + PROMPT,
            '    tool: calc\n    tier: fast\n    input: { expression: "{{t}}" }',
        ),
        ["wrong-kind 9:5"],
    ),
    "a structure on a call": (
        put("    prompt: " + PROMPT, '    call: m\n    input: { t: "{{t}}" }'),
        ["wrong-kind 8:5"],
    ),
    "a top-level key that is none": (put("budget: 5\n", "budget: 5\nbudgit: 6\n"), ["unknown-key 5:1"]),
    "a parse that is none": (line("parse: xml"), ["bad-value 11:12"]),
    "an anchor, an alias and a merge": (
        put('context: { t: "" }', "context: { t: &x { k: v }, u: *x, w: { <<: *x } }").replace(
            "{{t}}", "{{t}} {{u}} {{w}}"
        ),
        [],
    ),
    "an alias of nothing": (free("*nothing"), ["yaml-alias 5:15"]),
    "a list as a key": (free("{ ? [a] : b }"), ["bad-key 5:19"]),
    "a YAML of the future": ("%YAML 9.9\n---\n" + GOOD, ["yaml-version 1:1"]),
    "a second document": (GOOD + "---\n" + GOOD, ["yaml-documents 14:1"]),
    "a Python object": (free("!!python/object/apply:os.system [x]"), ["yaml-tag 5:15"]),
    "a list 3,000 deep": (put('context: { t: "" }\n', DEEP), ["yaml-depth 5:1013"]),
    "an alias bomb": (put('context: { t: "" }\n', BOMB), ["yaml-expansion 6:6"]),
    "a list that contains itself": (free("&x [*x]"), ["yaml-cycle 5:15"]),
    "a date in the context": (free("2024-01-02"), []),
    "bytes in the context": (free("!!binary aGk="), ["yaml-tag 5:15"]),
    "a set in the context": (free("!!set {x}"), ["yaml-tag 5:15"]),
    "no number in the context": (free(".nan"), ["not-json 5:15"]),
    "a context key that is a number": (put('t: ""', '1: x, t: ""'), ["?context-unread 5:12"]),
    "a context key that is null": (put('t: ""', 'null: x, t: ""'), ["?context-unread 5:12"]),
    "a context that is a list": (put('context: { t: "" }', "context: [t]"), ["wrong-type 5:10"]),
    "a context that is null": (put('context: { t: "" }', "context:"), ["wrong-type 5:1"]),
    "states that are null": (GOOD[: GOOD.index("states:")] + "states:\n", ["wrong-type 6:1"]),
    "states that are a list": (GOOD[: GOOD.index("states:")] + "states: [a]\n", ["wrong-type 6:9"]),
    "states that are none": (GOOD[: GOOD.index("states:")] + "states: {}\n", ["bad-value 6:9"]),
    "a version that is a number": (put('mklang: "0.4"', "mklang: 0.4"), ["wrong-type 1:9"]),
    "a version in a list": (put('mklang: "0.4"', 'mklang: ["0.4"]'), ["wrong-type 1:9"]),
    "a version with a patch number": (put('mklang: "0.4"', 'mklang: "0.3.0"'), []),
    "a version of the future": (put('mklang: "0.4"', 'mklang: "9.9"'), ["~version-unsupported 1:9"]),
    "names in any script": (
        GOOD.replace("machine: m", 'machine: "twee woorden 😀"')
        .replace("  a:", "  ä😀 b:")
        .replace("entry: a", "entry: ä😀 b")
        .replace("to: a ", "to: ä😀 b "),
        [],
    ),
    "a machine without a name": (put("machine: m", 'machine: ""'), ["bad-value 2:10"]),
    "an output without a name": (put("output: o", 'output: ""'), ["bad-value 10:13"]),
    "an output with a dot": (put("output: o", "output: a.b"), ["bad-value 10:13"]),
    "a call of itself without an end": (
        put("    structure: One line.\n    prompt: " + PROMPT, '    call: m\n    input: { t: "{{t}}" }').replace(
            SHORT, "{ when: it is short, then: ok, to: a }"
        ),
        ["~loop-judged 7:3", "~call-endless 8:11"],
    ),
}
UNQUOTED: dict[str, tuple[str | bytes, list[str]]] = {
    "a condition cut by a number sign": (put("when: it is short", "when: it lacks #2"), ["yaml-syntax 13:7"]),
    "a prompt cut by a number sign": (
        put(PROMPT, "Fix issue #42 and {{t}}"),
        ["?context-unread 5:12", "~text-cut 9:13"],
    ),
    "a number sign inside a word": (put(PROMPT, "see#1 {{t}}"), []),
    "no and yes as text": (put("One line.", "no"), []),
    "no in a list of the context": (free("[yes, no, maybe]"), ["ambiguous-scalar 5:16", "ambiguous-scalar 5:21"]),
    "on and yes as keys": (free("{ on: x, yes: z }"), []),
    "a number that loses its end": (free("1.10"), ["?number-shortened 5:15"]),
    "a number in a text": (put("One line.", "1.10"), ["wrong-type 8:16"]),
    "a leading zero": (free("010"), ["~ambiguous-scalar 5:15"]),
    "a leading zero and an eight": (free("08"), ["~ambiguous-scalar 5:15"]),
    "a time": (free("12:30:00"), []),
    "an underscore in a number": (free("1_000"), ["~ambiguous-scalar 5:15"]),
    "a hexadecimal number": (free("0x1F"), ["~ambiguous-scalar 5:15"]),
    "an exponent without a point": (free("1e3"), []),
    "a prompt of nothing": (put(PROMPT, ""), ["wrong-type 9:5"]),
    "a prompt that is a tilde": (put(PROMPT, "~"), ["wrong-type 9:13"]),
    "a key twice in the context": (free("{ a: 1, a: 2 }"), ["duplicate-key 5:23"]),
    "a prompt in braces": (put(PROMPT, "{t}"), ["wrong-type 9:13"]),
    "a placeholder without quotes": (put(PROMPT, "{{ t }}"), ["wrong-type 9:13"]),
    "a colon without its space, in brackets": (free("[dog:cat]"), []),
    "a second colon": (put(PROMPT, "Reply as: JSON {{t}}"), ["yaml-syntax 9:21"]),
    "a percent sign first": (put(PROMPT, "%x {{t}}"), ["yaml-syntax 9:13"]),
    "an at sign first": (put(PROMPT, "@x {{t}}"), ["yaml-syntax 9:13"]),
    "an asterisk first": (put(PROMPT, "*x {{t}}"), ["yaml-alias 9:13"]),
    "an exclamation mark first": (put(PROMPT, "!important {{t}}"), ["yaml-tag 9:13"]),
    "a backslash that stays": (put(PROMPT, "one\\ntwo {{t}}"), ["?backslash-literal 9:13"]),
    "a backslash in single quotes": (put(PROMPT, "'one\\ntwo {{t}}'"), ["?backslash-literal 9:13"]),
    "a folded block": (put(PROMPT, ">\n      one\n      two {{t}}\n\n      three"), []),
    "a merge key in a state": (put("    prompt: " + PROMPT, "    <<: { prompt: " + PROMPT + " }"), []),
    "a policy one level too high": (
        put("    output: o\n", "    output: o\n    escalate: true\n"),
        ["unknown-key 11:5"],
    ),
    "a misspelt policy": (put("repair: 2", "repiar: 2"), ["unknown-key 12:30"]),
    "a prompt in square brackets": (put(PROMPT, "[dog:cat]"), ["wrong-type 9:13"]),
}


def place(found: dict[str, Any]) -> str:
    """Where it is: line and column, or a dash for the document as a whole."""
    return "-" if found["line"] is None else f"{found['line']}:{found['column']}"


@pytest.mark.rule("W39", "W40", "W41", "W42", "W48", "W49", "W50", "W51")
@pytest.mark.parametrize(
    ("text", "expected"), [pytest.param(*one, id=name) for name, one in (TRIED | UNQUOTED).items()]
)
def test_an_odd_input_is_told_at_its_place(
    text: str | bytes, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.mkl"
    file.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    code = main(["lint", str(file), "--format", "json"])
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)["items"][0]["diagnostics"]
    signs = {"error": "", "warning": "~", "note": "?"}
    told = [f"{signs[one['severity']]}{one['code']} {place(one)}" for one in found]
    assert told == expected
    assert code == (1 if any(one["severity"] == "error" for one in found) else 0)


@pytest.mark.rule("L10")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (put("budget: 5", "budget: x").replace("prompt:", "promt:"), ["wrong-type 4:9", "unknown-key 9:5"]),
        (put("One line.", "Één").encode("latin-1"), ["not-utf8 8:16"]),
        (None, ["file-missing -"]),
    ],
)
def test_every_command_reads_a_document_the_same_way(
    text: str | bytes | None, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.mkl"
    if text is not None:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    (tmp_path / "m.test.yaml").write_text("scenarios: [{ name: s, expect: { status: done } }]\n")
    for command in (["check"], ["lint"], ["run"], ["test"]):
        code = main([*command, str(file), "--format", "json"])
        wire = json.loads(capsys.readouterr().out)
        found = [*wire.get("diagnostics", []), *(one for item in wire["items"] for one in item.get("diagnostics", []))]
        told = {f"{one['code']} {place(one)}" for one in found if one["path"] == str(file)}
        assert told >= set(expected), (command, wire)
        assert code == (1 if command in (["check"], ["lint"]) else 2), command


@pytest.mark.parametrize("command", [["check"], ["lint", "--fix"], ["fmt"], ["test"], ["graph"]], ids=" ".join)
def test_an_empty_name_is_no_file_and_not_the_working_directory(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = GOOD.replace("budget: 5", "Budget:   5")
    Path("m.mkl").write_text(odd)
    assert main([*command, ""]) != 0
    captured = capsys.readouterr()
    assert "file-missing" in captured.out + captured.err
    assert Path("m.mkl").read_text() == odd
