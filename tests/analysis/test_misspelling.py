"""A machine without findings, and every name in it misspelt, one at a time: none of them goes unnoticed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mklang.analysis.runner import Analyser
from mklang.diagnostics import Diagnostic
from mklang.lang.models import Tier
from mklang.lang.reader import machine_from_text, read_machine
from mklang.source import Source

DOCUMENT = """\
mklang: "‹0.4›"
machine: answer_mail
entry: ‹classify›
budget: 30
default_tier: ‹fast›
result: ‹reply›
context:
  ‹mail›: ""
  ‹tone›: { ‹greeting›: Dear, ‹closing›: Yours }
  ‹attempts›: []
tools:
  - name: ‹search_kb›
  - name: ‹send_reply›
hooks:
  - name: ‹safe_to_send›
states:
  ‹classify›:
    structure: One word.
    prompt: "What is this about? {{‹mail›}}"
    tier: ‹balanced›
    output: ‹topic›
    gates:
      - when: it is a complaint
        hook: eq:‹topic›:complaint
        escalate: ‹true›
        ask: May we answer this?
        reply_to: ‹boss›.‹words›
        to: ‹plan›
      - { when: ‹otherwise›, then: ‹ok›, to: ‹plan› }
  ‹plan›:
    structure: A JSON list of questions.
    execution: Ask little.
    prompt: "What must be looked up for {{‹topic›}}? {{‹boss›.‹words›}}"
    parse: ‹list›
    output: ‹questions›
    gates:
      - { when: there are more than five, repair: 2, to: ‹plan› }
      - { when: ‹otherwise›, then: ‹ok›, to: ‹look› }
  ‹look›:
    tool: ‹search_kb›
    over: "{{‹questions›}}"
    input: { query: "{{‹item›}}" }
    output: ‹hits›
    gates:
      - { when: ‹otherwise›, then: ‹ok›, to: ‹write› }
  ‹write›:
    structure: A letter.
    prompt: "{{‹tone›.‹greeting›}} {{‹hits›}} {{‹attempts›}} {{‹tone›.‹closing›}}"
    max_visits: 3
    reason: ‹true›
    output: ‹draft›
    gates:
      - { when: it promises too much, then: ‹ok›, to: ‹note› }
      - { when: ‹otherwise›, then: ‹ok›, to: ‹polish› }
  ‹note›:
    structure: One line.
    prompt: "What is wrong with this? {{‹draft›}}"
    accumulate: ‹true›
    output: ‹attempts›
    gates:
      - { when: ‹otherwise›, then: ‹ok›, to: ‹write› }
  ‹polish›:
    call: ‹polisher›
    input: { ‹text›: "{{‹draft›}}", ‹style›: plain }
    output: ‹reply›
    gates:
      - { when: it is safe, hook: ‹safe_to_send›, then: ‹ok›, to: ‹send› }
      - { when: ‹otherwise›, fail: ‹true› }
  ‹send›:
    tool: ‹send_reply›
    input: { body: "{{‹reply›}}" }
    output: receipt
    gates:
      - { when: ‹otherwise›, then: ‹ok›, to: ‹END› }
"""
CALLEE = """\
machine: polisher
entry: polish
budget: 3
context: { text: "" }
states:
  polish:
    structure: A letter.
    prompt: "Polish in {{style}} style: {{text}}"
    output: polished
    gates:
      - { when: otherwise, then: ok, to: END }
"""
_MARKED = re.compile("‹([^›]+)›")
_KEY = re.compile(r"(?<![\w:])([a-z_]+)(?=:[ \n])")
TEXT = _MARKED.sub(r"\1", DOCUMENT)
FREE = {"query", "body"}
"""What a host's tools call their arguments is not ours to know."""


def names() -> Iterator[tuple[int, str]]:
    """Every marked name and every key of the document that means something, with its offset in the plain text."""
    gone = 0
    for match in re.finditer(f"{_MARKED.pattern}|{_KEY.pattern}", DOCUMENT):
        name = match.group(1) or match.group(2)
        if name not in FREE:
            yield match.start() - gone, name
        gone += len(match.group()) - len(name)


def lint(text: str) -> list[Diagnostic]:
    source = Source("mail.mkl", text)
    reading = read_machine(source)
    if reading.machine is None:
        return list(reading.diagnostics)
    analyser = Analyser({"polisher": machine_from_text(CALLEE)}, tiers=list(Tier))
    return [*reading.diagnostics, *analyser.lint(reading.machine, source)]


def test_the_document_has_no_findings() -> None:
    assert lint(TEXT) == []


@pytest.mark.rule("W39")
@pytest.mark.parametrize(("offset", "name"), [pytest.param(*one, id=f"{one[1]}@{one[0]}") for one in names()])
def test_a_misspelt_name_is_noticed_on_its_line_or_where_it_is_missed(offset: int, name: str) -> None:
    wrong = name[:-1] + ("x" if name[-1] != "x" else "y") + name[-1]
    found = lint(TEXT[:offset] + wrong + TEXT[offset + len(name) :])
    assert found, f"'{wrong}' goes unnoticed"
    line = TEXT[:offset].count("\n") + 1
    mentions = [one for one in found if (one.span and one.span.line == line) or name in one.message + one.hint]
    assert mentions, [one.render() for one in found]
