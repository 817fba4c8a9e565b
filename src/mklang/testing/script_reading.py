"""Reading what a scenario's script answers: texts, verdicts, tokens, tools and hooks (L90, L91)."""

from __future__ import annotations

from yaml.nodes import MappingNode, SequenceNode

from mklang.engine.requests import NO_USAGE
from mklang.lang.fields import Fields
from mklang.lang.findings import below
from mklang.lang.nodes import describe, plain_value, read_map
from mklang.lang.yaml_tree import Position
from mklang.oracles.scripted import Always, ByPart, Script, ScriptedVerdict, Texts, Word
from mklang.testing.answer_reading import read_answers, read_replies
from mklang.testing.parts import each, inside, one_text, read_tokens, read_verdict
from mklang.testing.vocabulary import Part


def read_script(fields: Fields) -> Script:
    """The script in a scenario's keys."""
    llm = inside(fields, "llm", Part.LLM)
    return Script(
        produce=_produce(llm) if llm else (),
        judge=_judge(llm) if llm else None,
        tokens=read_tokens(llm) if llm else NO_USAGE,
        tools=dict(each(fields, "tools", _results)),
        hooks=dict(each(fields, "hooks", _booleans)),
        replies=read_replies(fields),
        answers=read_answers(fields),
    )


def _produce(llm: Fields) -> Texts:
    if "produce" not in llm:
        return ()
    return _texts(llm, "produce", "texts in order, or a map from a part of the message to a text", any_value=False)


def _texts(fields: Fields, name: str, expected: str, *, any_value: bool) -> Texts:
    """A list of texts or a map to texts. With ``any_value`` other values stand for their JSON text (L55)."""
    node, where = fields.entries[name][1], below(fields.where, name)
    if isinstance(node, MappingNode):
        entries = read_map(node, fields.findings, where, "") or {}
        read = (
            (part, one_text(entry[1], fields.findings, below(where, part), any_value=any_value))
            for part, entry in entries.items()
        )
        return ByPart(tuple((part, text) for part, text in read if text is not None))
    if isinstance(node, SequenceNode):
        items = fields.items(name) or []
        texts = (one_text(item, fields.findings, below(where, i), any_value=any_value) for i, item in enumerate(items))
        return tuple(text for text in texts if text is not None)
    fields.wrong_type(name, expected, "begin each entry with '- '")
    return ()


def _judge(llm: Fields) -> tuple[ScriptedVerdict, ...] | Always | None:
    if "judge" not in llm:
        return None
    node = llm.entries["judge"][1]
    if plain_value(node) == Word.UNPARSEABLE.value:
        return Always(Word.UNPARSEABLE)
    if not isinstance(node, SequenceNode):
        llm.wrong_type("judge", "a list of verdicts, or 'unparseable'", "write one verdict as a list: [0]")
        return None
    where = below(llm.where, "judge")
    read = (read_verdict(item, llm.findings, below(where, i)) for i, item in enumerate(llm.items("judge") or []))
    return tuple(verdict for verdict in read if verdict is not None)


def _results(tools: Fields, name: str) -> Texts:
    return _texts(tools, name, "results in order, or a map from a part of the input's JSON to a result", any_value=True)


def _booleans(hooks: Fields, name: str) -> tuple[bool, ...]:
    where, found = below(hooks.where, name), []
    for index, item in enumerate(hooks.items(name) or []):
        value = plain_value(item)
        if isinstance(value, bool):
            found.append(value)
        else:
            message = f"a hook is true or false, not {describe(item)}"
            hooks.findings.add("wrong-type", message, Position(item), below(where, index))
    return tuple(found)
