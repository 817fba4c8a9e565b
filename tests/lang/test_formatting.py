"""One way to write a document: nothing it says changes, no comment is lost, and writing it twice is writing it once."""

from __future__ import annotations

from collections import Counter
from random import Random
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.lang.comments import read_remarks
from mklang.lang.events import signs
from mklang.lang.format import format_source
from mklang.lang.reader import machine_from_text
from mklang.lang.semantics import semantic_hash
from mklang.source import Source
from tests.lang.odd_documents import scribble

STATES = """\
states:
  a:
    structure: s
    prompt: p
    output: o
    gates: [{ when: otherwise, then: ok, to: END }]
"""
TOP = "machine: m\nentry: a\nbudget: 3\n"


def formatted(text: str) -> str:
    """The document in the one way; formatting that again changes nothing."""
    found = format_source(Source("x.mkl", text))
    assert found.text is not None, found.problems
    assert format_source(Source("x.mkl", found.text)).text == found.text
    return found.text


def context(text: str) -> str:
    """The same for what stands in a document's context."""
    body = "".join(f"   {line}\n" if line else "\n" for line in dedent(text).splitlines())
    whole = formatted(f"{TOP}context:\n{body}{STATES}")
    inner = whole.removeprefix(f"{TOP}context:\n").removesuffix(STATES)
    return dedent(inner)


@settings(max_examples=500, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_any_document_keeps_its_meaning_and_its_comments_and_is_written_once(seed: int) -> None:
    text, comments = scribble(Random(seed))
    found = format_source(Source("x.mkl", text))
    assert found.text is not None, found.problems
    after = Source("x.mkl", found.text)
    assert semantic_hash(machine_from_text(text)) == semantic_hash(machine_from_text(found.text))
    assert Counter(one.text for one in read_remarks(after).comments) == Counter(comments)
    assert signs(text) == signs(found.text)
    assert format_source(after).text == found.text
    assert ("\r\n" in text) == ("\r\n" in found.text)


def test_keys_stand_in_the_order_of_the_language() -> None:
    odd = """\
    states:
        a:
            gates: [{to: END,then: ok,when: otherwise}]
            output: o
            tier: fast
            prompt: p
            structure: s
    budget: 3
    x_unknown: 1
    entry: a
    mklang: "0.4"
    machine: m
    """
    assert formatted(dedent(odd)) == (
        'mklang: "0.4"\nmachine: m\nentry: a\nbudget: 3\nstates:\n  a:\n    structure: s\n    prompt: p\n'
        "    tier: fast\n    output: o\n    gates: [{ when: otherwise, then: ok, to: END }]\nx_unknown: 1\n"
    )


def test_the_order_of_the_authors_own_keys_is_the_authors() -> None:
    assert context("b: {z: 1, a: 2}\na:\n  when: 1\n  to: 2\n  then: 3\n") == (
        "b: { z: 1, a: 2 }\na:\n  when: 1\n  to: 2\n  then: 3\n"
    )


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ("a:   [1,2 ,3]\n", "a: [1, 2, 3]\n"),
        ("a: {}\nb: [ ]\n", "a: {}\nb: []\n"),
        ("a: [\n one,\n  two,\n]\n", "a: [\n  one,\n  two\n]\n"),
        ("a:\n- x\n-   y\n", "a:\n  - x\n  - y\n"),
        ("a:\n    -\n        b: 1\n", "a:\n  - b: 1\n"),
        ("a:\n  -   - x\n      - y\n", "a:\n  - - x\n    - y\n"),
        ("a: |\n      deep\n        deeper\n\n      end\n\n\n", "a: |\n  deep\n    deeper\n\n  end\n\n"),
        ("a: |+\n  text\n\n\nb: 1\n", "a: |+\n  text\n\n\nb: 1\n"),
        ("a: |2\n    text\n", "a: |2\n    text\n"),
        ("a: one\n     two\n", "a: one\n  two\n"),
        ('a: "one\n     two"\n', 'a: "one\n  two"\n'),
        ("a: &x   {b: 1}\nc: *x\n", "a: &x { b: 1 }\nc: *x\n"),
        ("a: &x\n   b: 1\nc:\n   <<:   *x\n", "a: &x\n  b: 1\nc:\n  <<: *x\n"),
        ("a:\n\n\n\nb: 1\n", "a:\n\nb: 1\n"),
        ("a:\n   one\n", "a: one\n"),
    ],
)
def test_spaces_and_indentation(odd: str, expected: str) -> None:
    assert context(odd) == expected


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ("a: 1     # one\n", "a: 1  # one\n"),
        ("a: text # cut?\nb: text  # not\n", "a: text # cut?\nb: text  # not\n"),
        ('a: "x" # b\n', 'a: "x"  # b\n'),
        ("a: | # c\n  text # no comment\n", "a: |  # c\n  text # no comment\n"),
        ("a:   # c\n  b: 1\n", "a:  # c\n  b: 1\n"),
        ("a:   # c\n  text\n", "# c\na: text\n"),
        ("a: [1, # one\n  2]\n", "a: [1, # one\n  2]\n"),
        ("a:\n  -\n    # c\n    b: 1\n", "a:\n  # c\n  - b: 1\n"),
        ("a:\n  b: 1\n  # of a\n# of c\nc: 1\n", "a:\n  b: 1\n  # of a\n# of c\nc: 1\n"),
        ("a:\n  b:\n    c: 1\n    # of b\n  # of a\n\nd: 1\n", "a:\n  b:\n    c: 1\n    # of b\n  # of a\n\nd: 1\n"),
    ],
)
def test_comments_stay_with_what_they_are_about(odd: str, expected: str) -> None:
    assert context(odd) == expected


def test_comments_move_with_their_key_and_the_head_stays() -> None:
    odd = f"# licence\n\n# about this file\nbudget: 3 # small\n# the name\nmachine: m\nentry: a\n{STATES}# end\n"
    assert formatted(odd) == (
        f"# licence\n\n# about this file\n# the name\nmachine: m\nentry: a\nbudget: 3 # small\n{STATES}# end\n"
    )


def test_a_comment_above_a_gates_first_key_is_not_lost_when_another_comes_first() -> None:
    odd = TOP + STATES.replace(
        "[{ when: otherwise, then: ok, to: END }]",
        "\n      - to: END\n        # why\n        when: otherwise\n        then: ok",
    )
    assert "      # why\n      - when: otherwise\n        then: ok\n        to: END\n" in formatted(odd)


def test_an_alias_never_comes_before_its_anchor() -> None:
    odd = TOP.replace("budget: 3\n", "") + STATES.replace("structure: s", "output: &x o").replace(
        "output: o", "structure: *x"
    )
    odd += "budget: 3\n"
    assert formatted(odd).index("&x") < formatted(odd).index("*x")


def test_the_last_text_without_a_line_end_stays_without() -> None:
    odd = "machine: m\nentry: a\nbudget: 3\n" + STATES.replace("    prompt: p\n", "") + "    prompt: |\n      text"
    assert "    prompt: |-\n      text\n" in formatted(odd)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "yaml-syntax"),
        ("? a\n: b\n", "not-formattable"),
        ("{ machine: m }\n", "not-formattable"),
        ("- a\n", "not-formattable"),
        ("%YAML 1.1\n---\na: 1\n", "not-formattable"),
        ("a: 1\n...\n", "not-formattable"),
        ("a: one\u2028  two\n", "not-formattable"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(text: str, why: str) -> None:
    found = format_source(Source("x.mkl", text))
    assert found.text is None
    assert [one.code for one in found.problems] == [why]


def test_a_document_mark_and_mistakes_of_meaning_are_no_matter() -> None:
    assert formatted("---\n# c\nentry:   nowhere\nmachine: m\nmachin: n\n") == (
        "---\n# c\nmachine: m\nentry: nowhere\nmachin: n\n"
    )
    assert format_source(Source("x", "")).text == ""
