"""An oracle that answers from a script: what scenario files and conformance cases run on (L90, L91).

One :class:`ScriptedOracle` plays one script through one run; a list in a script is used up as it is asked. How strict
the playing is, is a :class:`Manner`: our own tests are strict, the published conformance cases rely on leniencies. An
answer pinned to a request's key comes before everything else.

The order in which the branches of a fan-out ask is no part of the language. A strict list therefore answers a branch by
its index: branch ``i`` gets entry ``i`` of those that were left when the fan-out began. A branch that asks twice has no
place in such a list and is refused; the map form answers it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Generic, NoReturn, TypeAlias, TypeVar, assert_never

from mklang.engine.requests import (
    NO_USAGE,
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    NotYet,
    Observation,
    Produce,
    Produced,
    Read,
    Reply,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.errors import HookFailed, ScriptFailed, ToolFailed, UnknownHook, UnknownTool
from mklang.lang.values import Json
from mklang.oracles.people import says_yes
from mklang.oracles.pinned import Misfit, PinnedAnswer, Pins

T = TypeVar("T")

MODEL = "scripted"
"""The judge's model id in traces."""
THOUGHT = "thought"
"""The reasoning of a state with ``reason: true`` (L91)."""
NONCE = "scripted-run"
"""Every scripted run has the same nonce, so that its requests are the same text each time."""
EXHAUSTED = "ok"
"""What a published case's used-up produce list answers."""

_Scripted: TypeAlias = Produce | Judge | Tool | Hook | Ask

HookAnswerer: TypeAlias = Callable[[Hook], Awaitable[HookValue]]
"""Answers hooks that the script does not name; raises ``UnknownHook`` for a name it does not know either."""


class Manner(Enum):
    """How a script is played."""

    STRICT = "strict"
    """What is not scripted fails, and so does what is scripted and never asked for (``mklang test``)."""
    PUBLISHED = "published"
    """A used-up produce list answers ``ok``, the last verdict repeats, no verdicts mean the last condition (L91)."""


class Word(Enum):
    """A verdict that is no position."""

    NONE = "none"
    UNPARSEABLE = "unparseable"


ScriptedVerdict: TypeAlias = int | Word


@dataclass(frozen=True, slots=True)
class Always:
    """One verdict for every judge call."""

    verdict: ScriptedVerdict


@dataclass(frozen=True, slots=True)
class ByPart:
    """Answers by a part of what is asked: the first entry whose part occurs in it."""

    entries: tuple[tuple[str, str], ...]

    def find(self, asked: str) -> str | None:
        """The answer for this question; None when no part occurs in it."""
        return next((text for part, text in self.entries if part in asked), None)


Texts: TypeAlias = tuple[str, ...] | ByPart


@dataclass(frozen=True, slots=True)
class EveryTime:
    """One reply to every question at a path."""

    value: Json


Replies: TypeAlias = tuple[Json, ...] | EveryTime


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What is answered. ``judge`` None means that nothing is said about verdicts; ``tokens`` go with every text.

    ``answers`` maps a request's key to its answer, ``replies`` the path of a question to what a person says there.
    """

    produce: Texts = ()
    judge: tuple[ScriptedVerdict, ...] | Always | None = None
    tokens: Usage = NO_USAGE
    tools: Mapping[str, Texts] = field(default_factory=lambda: MappingProxyType({}))
    hooks: Mapping[str, tuple[bool, ...]] = field(default_factory=lambda: MappingProxyType({}))
    replies: Mapping[str, Replies] = field(default_factory=lambda: MappingProxyType({}))
    answers: Mapping[str, PinnedAnswer] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Closing:
    """How a script fared: what it could not answer, and what of it was never asked for, by number or by name."""

    failures: tuple[str, ...]
    unused_texts: int
    unused_verdicts: int
    unused_replies: tuple[str, ...] = ()
    unused_answers: tuple[str, ...] = ()


class ScriptedOracle:
    """Plays one script through one run. ``hooks`` answers the hooks that the script does not name."""

    def __init__(self, script: Script, *, manner: Manner = Manner.STRICT, hooks: HookAnswerer | None = None) -> None:
        self._script = script
        self._manner = manner
        self._hooks = hooks
        self._failures: list[str] = []
        self._texts = self._reel(script.produce if isinstance(script.produce, tuple) else (), False)
        lenient = manner is Manner.PUBLISHED
        self._verdicts = self._reel(script.judge if isinstance(script.judge, tuple) else (), lenient)
        self._tool_reels = {
            name: self._reel(texts, True) for name, texts in script.tools.items() if isinstance(texts, tuple)
        }
        self._hook_reels = {name: self._reel(values, True) for name, values in script.hooks.items()}
        self._reply_reels = {path: self._reel(*_in_order(replies)) for path, replies in script.replies.items()}
        self._pins = Pins(script.answers)

    async def answer(self, request: Request, /) -> Answer:
        """Answer one request from the script, or fail it with what was asked and what the script holds."""
        if isinstance(request, Nonce):
            return NonceValue(NONCE)
        try:
            pinned = self._pins.find(request)
        except Misfit as why:
            self._fail(request, str(why))
        return await self._by_kind(request) if pinned is None else pinned

    async def _by_kind(self, request: _Scripted) -> Answer:
        match request:
            case Produce():
                return self._produce(request)
            case Judge():
                return self._judge(request)
            case Tool():
                return self._tool(request)
            case Hook():
                return await self._hook(request)
            case Ask():
                return self._ask(request)
            case _ as unknown:
                assert_never(unknown)

    def closing(self) -> Closing:
        """What to hold against the script once the run is over."""
        return Closing(
            tuple(self._failures),
            self._texts.unused,
            self._verdicts.unused,
            unused_replies=tuple(path for path, reel in self._reply_reels.items() if reel.unused),
            unused_answers=self._pins.unused,
        )

    def _produce(self, request: Produce) -> Produced:
        reasoning = THOUGHT if request.reason else None
        return Produced(text=self._text(request), reasoning=reasoning, usage=self._script.tokens)

    def _text(self, request: Produce) -> str:
        texts = self._script.produce
        if isinstance(texts, ByPart):
            found = texts.find(request.user)
            return found if found is not None else self._fail(request, "no key of llm.produce occurs in the message")
        entry = self._texts.take(request)
        if entry is Gap.NO_ORDER:
            self._fail(request, f"a list has no order for {_TWICE}; use the map form of llm.produce")
        if entry is not Gap.USED_UP:
            return entry
        if self._manner is Manner.PUBLISHED:
            return EXHAUSTED
        return self._fail(request, _used_up(len(texts), "text"))

    def _judge(self, request: Judge) -> Verdict:
        judge, count = self._script.judge, len(request.conditions)
        if isinstance(judge, Always):
            return _verdict(judge.verdict, count)
        if not judge and self._manner is Manner.PUBLISHED:
            return _verdict(count - 1, count)
        if judge is None:
            self._fail(request, "llm.judge is not in the script")
        entry = self._verdicts.take(request)
        if entry is Gap.NO_ORDER:
            self._fail(request, f"llm.judge has no order for {_TWICE}; test the called machine on its own")
        if entry is Gap.USED_UP:
            self._fail(request, _used_up(len(judge), "verdict"))
        if isinstance(entry, int) and not 0 <= entry <= count and self._manner is Manner.STRICT:
            self._fail(request, f"the scripted verdict is {entry}, allowed is 0 to {count - 1}, or none")
        return _verdict(entry, count)

    def _tool(self, request: Tool) -> Observation:
        texts = self._script.tools.get(request.name)
        if texts is None:
            raise UnknownTool(request.name, self._script.tools)
        if isinstance(texts, ByPart):
            found = texts.find(json.dumps(request.input, ensure_ascii=False))
            if found is None:
                self._fail(request, f"no key of tools.{request.name} occurs in the input")
            return Observation(found)
        entry = self._tool_reels[request.name].take(request)
        if entry is Gap.NO_ORDER:
            self._fail(request, f"a list has no order for {_TWICE}; use the map form of tools.{request.name}")
        if entry is Gap.USED_UP:
            raise ToolFailed(f"tool '{request.name}' fails: its list in the script is empty")
        return Observation(entry)

    async def _hook(self, request: Hook) -> HookValue:
        reel = self._hook_reels.get(request.name)
        if reel is None:
            if self._hooks is None:
                raise UnknownHook(request.name, self._script.hooks)
            return await self._hooks(request)
        entry = reel.take(request)
        if entry is Gap.NO_ORDER:
            self._fail(request, f"hooks.{request.name} has no order for {_TWICE}; test the called machine on its own")
        if entry is Gap.USED_UP:
            raise HookFailed(f"hook '{request.name}' fails: its list in the script is empty")
        return HookValue(entry)

    def _ask(self, request: Ask) -> Reply | NotYet:
        """The scripted reply; a question that nobody is scripted to answer leaves the run waiting (L81)."""
        reel = self._reply_reels.get(request.reply_to)
        entry = Gap.USED_UP if reel is None else reel.take(request)
        if entry is Gap.NO_ORDER:
            self._fail(request, f"replies.{request.reply_to} has no order for {_TWICE}; use 'answers'")
        if entry is Gap.USED_UP:
            return NotYet(question=request.question or "")
        return Reply(values={request.reply_to: entry}, confirms=says_yes(entry))

    def _reel(self, entries: tuple[T, ...], repeats: bool) -> _Reel[T]:
        return _Reel(entries, repeats=repeats, by_branch=self._manner is Manner.STRICT)

    def _fail(self, request: _Scripted, why: str) -> NoReturn:
        where = f"; 'answers' has no {request.key}" if self._script.answers else ""
        text = f"script: {request.key}: state '{request.state}' asked {_question(request)}, and {why}{where}"
        self._failures.append(text)
        raise ScriptFailed(text)


class Gap(Enum):
    """Why a list has no entry for a request."""

    USED_UP = "used up"
    NO_ORDER = "no order"


class _Reel(Generic[T]):
    """One list of a script and how far it has been played. ``repeats``: the last entry answers whatever comes later."""

    def __init__(self, entries: tuple[T, ...], *, repeats: bool, by_branch: bool) -> None:
        self._entries = entries
        self._repeats = repeats
        self._by_branch = by_branch
        self._next = 0
        self._used: set[int] = set()
        self._begun: dict[str, int] = {}
        self._served: set[tuple[str, int]] = set()

    @property
    def unused(self) -> int:
        """How many entries answered nothing."""
        return len(self._entries) - len(self._used)

    def take(self, request: _Scripted) -> T | Gap:
        """The entry for this request."""
        branch = _branch_of(request) if self._by_branch else None
        if branch is None:
            return self._at(self._next)
        fan_out, index = branch
        begin = self._begun.setdefault(fan_out, self._next)
        if branch in self._served and not (self._repeats and begin >= len(self._entries) - 1):
            return Gap.NO_ORDER
        self._served.add(branch)
        return self._at(begin + index)

    def _at(self, position: int) -> T | Gap:
        self._next = max(self._next, position + 1)
        if self._repeats and self._entries:
            position = min(position, len(self._entries) - 1)
        if position >= len(self._entries):
            return Gap.USED_UP
        self._used.add(position)
        return self._entries[position]


_TWICE = "a branch of a fan-out that asks more than once"
_BRANCH = re.compile(r"\[(\d+)\]/(?:call/|produce$|tool$)")


def _in_order(replies: Replies) -> tuple[tuple[Json, ...], bool]:
    """The replies as a list, and whether its last entry repeats."""
    return ((replies.value,), True) if isinstance(replies, EveryTime) else (replies, False)


def _branch_of(request: _Scripted) -> tuple[str, int] | None:
    """The outermost fan-out that a request stands in, as the path of its key, and the branch's index."""
    path = request.key.replace(f":{request.state}", ":")  # a state's id may look like a branch
    found = _BRANCH.search(path)
    return (path[: found.start()], int(found[1])) if found else None


def _verdict(scripted: ScriptedVerdict, count: int) -> Verdict:
    """A scripted verdict as the engine knows it; a position equal to the number of conditions is none (L91)."""
    if scripted is Word.UNPARSEABLE:
        return Verdict(index=None, read=Read.UNREAD, raw=Word.UNPARSEABLE.value, model=MODEL)
    if scripted is Word.NONE or scripted == count:
        return Verdict(index=None, model=MODEL)
    return Verdict(index=scripted, model=MODEL)


def _used_up(count: int, what: str) -> str:
    if count == 0:
        return f"the script holds no {what}"
    return f"the scripted {what} is used up" if count == 1 else f"the {count} scripted {what}s are used up"


def _question(request: _Scripted) -> str:
    """What was asked, short enough for a line."""
    match request:
        case Produce():
            return f"for a text ({_short(request.user)})"
        case Judge():
            return f"which of these is true: {_short('; '.join(request.conditions))}"
        case Tool():
            return f"tool '{request.name}' ({_short(json.dumps(request.input, ensure_ascii=False))})"
        case Hook():
            return f"hook '{request.name}'"
        case Ask():
            return f"a person {_short(request.question or '')}"


def _short(text: str, limit: int = 160) -> str:
    line = " ".join(text.split())
    return json.dumps(line if len(line) <= limit else line[: limit - 1] + "…", ensure_ascii=False)
