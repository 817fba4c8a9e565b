"""A key that a model echoes is in no piece of its reply, wherever the pieces are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.llm.streams import Piece
from mklang.llm.withholding import Secret, Withheld

KEY = "sk-secret-sk-s"
NEAR = st.text("sk-ecrt ", max_size=9)


def shown(texts: list[str], secret: str | None = KEY) -> list[str]:
    withheld = Withheld(secret)
    pieces = [piece for text in texts for piece in withheld.through([Piece(text)])]
    return [piece.text for piece in (*pieces, *withheld.rest())]


@pytest.mark.rule("S27")
@given(
    around=st.tuples(st.text("sk-ecrt ", max_size=9), st.text("sk-ecrt ", max_size=9)), cuts=st.lists(st.integers(1, 5))
)
def test_the_pieces_are_those_of_the_text_without_the_key(around: tuple[str, str], cuts: list[int]) -> None:
    text = f"{around[0]}{KEY}{around[1]}"
    texts, rest = [], text
    for cut in cuts:
        texts.append(rest[:cut])
        rest = rest[cut:]
    told = shown([*texts, rest])
    assert "".join(told) == text.replace(KEY, "[key]")
    assert KEY not in "".join(told)


def test_nothing_waits_that_could_not_be_a_key() -> None:
    assert shown(["a", "b s", "k", "c"]) == ["a", "b ", "skc"]
    assert shown(["any", "thing"], None) == ["any", "thing"]


def test_thinking_and_text_do_not_run_together() -> None:
    withheld = Withheld(KEY)
    pieces = [*withheld.through([Piece("sk-", thought=True)]), *withheld.through([Piece("sk")]), *withheld.rest()]
    assert [(piece.text, piece.thought) for piece in pieces] == [("sk-", True), ("sk", False)]


@pytest.mark.parametrize("word", ["none", "x", "EMPTY", "ollama", "lm-studio", "placeholder"])
def test_a_key_that_is_only_a_word_changes_no_text_and_stands_in_no_message(word: str) -> None:
    secret = Secret(word)
    text, pieces = f"There is {word} in this text: {word}.", secret.withheld()
    assert secret.out_of_reply(text) == text
    assert "".join(piece.text for piece in (*pieces.through([Piece(text)]), *pieces.rest())) == text
    assert secret.out_of(f"no such name: {word!r}") == "no such name: '[key]'"
    assert word == "x" or word not in repr(secret)


def test_where_no_key_is_sent_nothing_changes() -> None:
    assert Secret(None).out_of("text") == Secret(None).out_of_reply("text") == "text"
