"""The decision at the end of a state: gates walked left to right in code, the first that is true fires (L56, L57)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import TypeAlias

from mklang.engine.humans import choose_gate
from mklang.engine.level import Level, StateHalt
from mklang.engine.narration import tell_judged, tell_request
from mklang.engine.noul import contradicts, doubtful, judgement_of, usable
from mklang.engine.options import OnUncertain
from mklang.engine.outcome import Reason
from mklang.engine.requests import Hook, HookValue, Judge, Read, Verdict
from mklang.engine.taint import hook_confirms
from mklang.engine.trace import TraceStep
from mklang.errors import InternalError
from mklang.lang.models import Gate, HookCondition, Otherwise, Prose, Repair, State
from mklang.lang.values import Json

CLEAN_METHODS = frozenset({"json", "noul_first_ge"})
RAW_CHARS = 200
Note: TypeAlias = "tuple[Sequence[Gate], Verdict, Gate | None, bool]"
"""The gates a judge was asked about, its verdict, the gate that fired by it, and whether the decision is in doubt."""


class Decision:
    """One state's decision in the making: what is asked, and what the answers say about it in the trace step."""

    __slots__ = ("gates", "judged", "key", "level", "notes", "result", "state", "step")

    def __init__(self, level: Level, state: State, *, key: str, result: Json, step: TraceStep) -> None:
        self.level = level
        self.state = state
        self.key = key
        self.result = result
        self.step = step
        self.judged = False
        self.notes: list[Note] = []
        self.gates: Sequence[Gate] = state.gates
        if level.repairs:
            self.gates = [gate for gate in state.gates if not _spent(level, state, gate)]

    async def first_true(self) -> Gate:
        """The gate that fires. Halts ``no-gate-matched`` or ``judge-unparseable`` when none can."""
        whole = self._judged_whole()
        position = 0
        while position < len(self.gates):
            gate = self.gates[position]
            condition = gate.condition
            if isinstance(condition, Otherwise):
                return self._fired(gate, "otherwise")
            if isinstance(condition, HookCondition):
                if await self._holds(condition.name, gate):
                    return self._fired(gate, "hook")
                position += 1
                continue
            if whole:
                return await self._walk_whole(position)
            end = position + 1
            while end < len(self.gates) and isinstance(self.gates[end].condition, Prose):
                end += 1
            batch = self.gates[position:end]
            chosen = self._chosen(batch, await self._verdict(batch), after=position)
            if chosen is not None:
                return chosen
            position = end
        raise self._halt(Reason.NO_GATE_MATCHED)

    def _judged_whole(self) -> bool:
        """Whether this state's judge answers a whole decision at once."""
        tiers = self.level.shared.options.whole_decisions
        return bool(tiers) and self.level.tier_of(self.state) in tiers

    async def _walk_whole(self, start: int) -> Gate:
        """Ask once about every prose gate from here on, and walk the answers: hooks in between are asked lazily."""
        reachable = list(takewhile(_is_no_catch_all, self.gates[start:]))
        prose = [gate for gate in reachable if _is_prose(gate)]
        verdict = await self._verdict(prose)
        self.judged = True
        self.step.judge_model = verdict.model or None
        if not usable(verdict, len(prose)):
            self._note(prose, verdict)
            return self._fallback(verdict, start)
        chances = dict(zip([gate.index for gate in prose], verdict.probabilities or (), strict=True))
        fired, via, walked = await self._first_reached(start, chances, verdict.threshold or 0.0)
        doubt = doubtful(walked, verdict) or contradicts(verdict)
        self._note(prose, verdict, chosen=fired if via == "llm" else None, uncertain=doubt)
        if via != "llm" and len(walked) == len(prose):
            self.step.judge_none += 1
        if doubt and self.level.shared.options.on_uncertain is OnUncertain.ASK:
            chosen = await choose_gate(self.level, self.state.id, self.gates[start:], chances=chances, key=self.key)
            return self._fired(chosen, "human")
        if fired is None or via is None:
            raise self._halt(Reason.NO_GATE_MATCHED)
        return self._fired(fired, via)

    async def _first_reached(
        self, start: int, chances: dict[int, float], threshold: float
    ) -> tuple[Gate | None, str | None, list[float]]:
        """The first true gate and how it was decided, with the probabilities walked on the way."""
        walked: list[float] = []
        for gate in self.gates[start:]:
            condition = gate.condition
            if isinstance(condition, Otherwise):
                return gate, "otherwise", walked
            if isinstance(condition, HookCondition):
                if await self._holds(condition.name, gate):
                    return gate, "hook", walked
                continue
            walked.append(chances[gate.index])
            if walked[-1] >= threshold:
                return gate, "llm", walked
        return None, None, walked

    async def _holds(self, name: str, gate: Gate) -> bool:
        level = self.level
        request = Hook(
            key=f"{self.key}/hook[{gate.index}]",
            state=self.state.id,
            name=name,
            context=MappingProxyType(level.board.values),
            output=self.result,
        )
        answer = await level.shared.ask(request)
        if not isinstance(answer, HookValue):
            raise InternalError(f"{request.key}: an oracle answered a hook with {type(answer).__name__}")
        if answer.holds:
            self.step.hook = name
        return answer.holds

    def _chosen(self, batch: Sequence[Gate], verdict: Verdict, *, after: int) -> Gate | None:
        """The gate of a run of prose gates that a verdict means; None means none of them is true (L62)."""
        step = self.step
        self.judged = True
        if verdict.read is Read.UNREAD or (verdict.index is not None and not 0 <= verdict.index < len(batch)):
            self._note(batch, verdict)
            return self._fallback(verdict, after)
        step.judge_model = verdict.model or None
        if verdict.method not in CLEAN_METHODS:
            step.judge_parse = verdict.method
        if verdict.forced:
            step.judge_forced_choice = True
        chosen = None if verdict.index is None else batch[verdict.index]
        self._note(batch, verdict, chosen=chosen)
        if chosen is None:
            step.judge_none += 1
            return None
        return self._fired(chosen, "llm")

    def _note(
        self, asked: Sequence[Gate], verdict: Verdict, *, chosen: Gate | None = None, uncertain: bool = False
    ) -> None:
        note = (asked, verdict, chosen, uncertain)
        self.notes.append(note)
        if self.level.shared.observer is not None:
            tell_judged(self.level, self.state.id, judgement_of(*note), text=_judged_text(self.step))

    async def _verdict(self, batch: Sequence[Gate]) -> Verdict:
        level, step = self.level, self.step
        text = _judged_text(step)
        reasoning = _judged_reasoning(step)
        context = level.board.evidence()
        key = f"{self.key}/judge[{batch[0].index}]"
        request = Judge(
            key=key,
            state=self.state.id,
            tier=level.tier_of(self.state),
            conditions=tuple([gate.when for gate in batch]),
            output=text,
            reasoning=reasoning,
            context=context,
            nonce=level.shared.nonces.derive(key, (text, context, reasoning or "")),
        )
        tell_request(level, request)
        verdict = await level.shared.ask_model(request)
        if not isinstance(verdict, Verdict):
            raise InternalError(f"{key}: an oracle answered a judgement with {type(verdict).__name__}")
        level.charge(step, verdict.usage)
        step.seconds += verdict.seconds
        step.attempts += verdict.attempts
        return verdict

    def _fallback(self, verdict: Verdict, after: int) -> Gate:
        """An unread verdict: the first catch-all from here on, or a halt; never a guess (L62)."""
        self.step.judge_fallback = True
        self.step.judge_raw = (verdict.raw or f"{verdict.method}: {verdict.index}")[:RAW_CHARS]
        self.step.judge_model = verdict.model or None
        for gate in self.gates[after:]:
            if isinstance(gate.condition, Otherwise):
                return self._fired(gate, "otherwise")
        raise self._halt(Reason.JUDGE_UNPARSEABLE)

    def _halt(self, reason: Reason) -> StateHalt:
        self._keep_notes()
        return StateHalt(reason)

    def _keep_notes(self) -> None:
        """Put the judgements into the step, where the step's own fields do not tell them all."""
        if len(self.notes) > 1 or (self.notes and _tells_more(self.notes[0][1])):
            self.step.judgements = tuple(judgement_of(*note) for note in self.notes)

    def _fired(self, gate: Gate, via: str) -> Gate:
        level, step = self.level, self.step
        step.gate, step.gate_via = gate.when, via
        self._keep_notes()
        confirmed = via == "human" or (
            via == "hook" and hook_confirms(step.hook or "", level.board.provenance, self.state.output)
        )
        if confirmed:
            level.flow_tainted = False
            return gate
        step.hook_unconfirmed = via == "hook"
        if self.judged and level.board.provenance.external:
            step.decision_tainted = level.flow_tainted = True
        return gate


def _tells_more(verdict: Verdict) -> bool:
    """Whether a verdict says more than which gate is true: probabilities, or that the fences were checked."""
    return verdict.probabilities is not None or verdict.fence_applied is not None


def _is_prose(gate: Gate) -> bool:
    return isinstance(gate.condition, Prose)


def _is_no_catch_all(gate: Gate) -> bool:
    return not isinstance(gate.condition, Otherwise)


def _spent(level: Level, state: State, gate: Gate) -> bool:
    """Whether a repair gate has no attempts left; attempts are counted for the whole run and never refilled (L56)."""
    policy = gate.policy
    return isinstance(policy, Repair) and level.repairs.get((state.id, gate.index), 0) >= policy.limit


def _judged_text(step: TraceStep) -> str:
    """What was produced, as the judge sees it: a fan-out's whole list."""
    if step.branches is None and step.output is not None:
        return step.output
    return "\n".join(f"{number}. {text}" for number, text in enumerate(step.branches or [], 1))


def _judged_reasoning(step: TraceStep) -> str | None:
    if step.reasonings is not None:
        return "\n---\n".join(text for text in step.reasonings if text) or None
    return step.reasoning
