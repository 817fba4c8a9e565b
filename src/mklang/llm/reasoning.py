"""``reason: true`` for a model that does not show its thinking: private notes first, then the answer (L45).

Two requests instead of marks inside one: a mark can be forgotten, or stand in the answer, and either way somebody would
have to guess where thinking ends. The notes are the model's own turn in the talk, stand in the trace as reasoning, and
are never part of the text.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from mklang.engine.requests import Produced
from mklang.errors import AnswerFailed
from mklang.llm.base import Chat, Exchange
from mklang.llm.retry import add_cost

NOTES = (
    "Before you write the output, think. Write private notes now: what is asked, which facts matter, what could go "
    "wrong, how you decide. For this one reply the output contract does not hold; do not write the output itself."
)
ANSWER = "Now write the output as the contract says, and nothing else. The notes stay private; do not mention them."


async def with_notes(chat: Chat, exchange: Exchange) -> Produced:
    """The answer, its reasoning what the model noted before. Raises as ``Chat.reply`` does; both requests are paid.

    A model that thought by itself about its notes will do so about the answer: it is asked for that from the beginning,
    since some endpoints refuse a talk whose earlier thinking is not sent along (P-24).
    """
    aside = replace(exchange, system=f"{exchange.system}\n\n{NOTES}", aside=True)
    notes = await chat.reply(aside)
    text = "" if notes.reasoning else notes.text.strip()
    try:
        answer = await chat.reply(replace(exchange, turns=(text, ANSWER)) if text else exchange)
    except AnswerFailed as failed:
        add_cost(failed, notes.usage)
        raise
    reasoning = "\n\n".join(filter(None, (text, answer.reasoning))) or notes.reasoning
    return msgspec.structs.replace(answer, reasoning=reasoning, usage=answer.usage + notes.usage)
