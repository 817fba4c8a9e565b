"""The decision at the end of a state: gates walked left to right in code, the first that is true fires (L56, L57)."""

from __future__ import annotations

from types import MappingProxyType

from mklang.engine.fence import derive_nonce
from mklang.engine.level import Level, StateHalt
from mklang.engine.outcome import Reason
from mklang.engine.requests import Hook, HookValue, Judge, Read, Verdict
from mklang.engine.taint import hook_confirms
from mklang.engine.trace import TraceStep
from mklang.errors import InternalError
from mklang.lang.models import Gate, HookCondition, Otherwise, Prose, Repair, State
from mklang.lang.values import Json

CLEAN_METHODS = frozenset({"json", "noul_first_ge"})
RAW_CHARS = 200


class Decision:
    """One state's decision in the making: what is asked, and what the answers say about it in the trace step."""

    __slots__ = ("gates", "judged", "key", "level", "result", "state", "step")

    def __init__(self, level: Level, state: State, *, key: str, result: Json, step: TraceStep) -> None:
        self.level = level
        self.state = state
        self.key = key
        self.result = result
        self.step = step
        self.judged = False
        self.gates = [gate for gate in state.gates if not _spent(level, state, gate)]

    async def first_true(self) -> Gate:
        """The gate that fires. Halts ``no-gate-matched`` or ``judge-unparseable`` when none can."""
        gates, position = self.gates, 0
        while position < len(gates):
            gate = gates[position]
            condition = gate.condition
            if isinstance(condition, Otherwise):
                return self._fired(gate, "otherwise")
            if isinstance(condition, HookCondition):
                if await self._holds(condition.name, gate):
                    return self._fired(gate, "hook")
                position += 1
                continue
            end = position + 1
            while end < len(gates) and isinstance(gates[end].condition, Prose):
                end += 1
            chosen = await self._judge(gates[position:end], after=position)
            if chosen is not None:
                return chosen
            position = end
        raise StateHalt(Reason.NO_GATE_MATCHED)

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

    async def _judge(self, batch: list[Gate], *, after: int) -> Gate | None:
        """Ask for the first true gate of a run of prose gates; None means none of them is (L62)."""
        step = self.step
        verdict = await self._verdict(batch)
        self.judged = True
        if verdict.read is Read.UNREAD or (verdict.index is not None and not 0 <= verdict.index < len(batch)):
            return self._fallback(verdict, after)
        step.judge_model = verdict.model or None
        if verdict.method not in CLEAN_METHODS:
            step.judge_parse = verdict.method
        if verdict.forced:
            step.judge_forced_choice = True
        step.judge_probabilities = verdict.probabilities
        if verdict.index is None:
            step.judge_none += 1
            return None
        return self._fired(batch[verdict.index], "llm")

    async def _verdict(self, batch: list[Gate]) -> Verdict:
        level = self.level
        output = self.step.output if self.step.branches is None else None
        text = _judged_text(self.step) if output is None else output
        reasoning = _judged_reasoning(self.step)
        context = level.board.evidence()
        key = f"{self.key}/judge[{batch[0].index}]"
        request = Judge(
            key=key,
            state=self.state.id,
            tier=self.state.tier or level.machine.default_tier,
            conditions=tuple([gate.when for gate in batch]),
            output=text,
            reasoning=reasoning,
            context=context,
            nonce=derive_nonce(level.shared.seed, key, (text, context, reasoning or "")),
        )
        verdict = await level.shared.ask_model(request)
        if not isinstance(verdict, Verdict):
            raise InternalError(f"{key}: an oracle answered a judgement with {type(verdict).__name__}")
        level.charge(verdict.usage)
        self.step.usage = self.step.usage + verdict.usage
        self.step.seconds += verdict.seconds
        return verdict

    def _fallback(self, verdict: Verdict, after: int) -> Gate:
        """An unread verdict: the first catch-all from here on, or a halt; never a guess (L62)."""
        self.step.judge_fallback = True
        self.step.judge_raw = (verdict.raw or f"{verdict.method}: {verdict.index}")[:RAW_CHARS]
        self.step.judge_model = verdict.model or None
        for gate in self.gates[after:]:
            if isinstance(gate.condition, Otherwise):
                return self._fired(gate, "otherwise")
        raise StateHalt(Reason.JUDGE_UNPARSEABLE)

    def _fired(self, gate: Gate, via: str) -> Gate:
        level, step = self.level, self.step
        step.gate, step.gate_via = gate.when, via
        confirmed = via == "hook" and hook_confirms(step.hook or "", level.board.provenance, self.state.output)
        if confirmed:
            level.flow_tainted = False
            return gate
        step.hook_unconfirmed = via == "hook"
        if self.judged and level.board.provenance.external:
            step.decision_tainted = level.flow_tainted = True
        return gate


def _spent(level: Level, state: State, gate: Gate) -> bool:
    """Whether a repair gate has no attempts left; attempts are counted for the whole run and never refilled (L56)."""
    policy = gate.policy
    return isinstance(policy, Repair) and level.repairs.get((state.id, gate.index), 0) >= policy.limit


def _judged_text(step: TraceStep) -> str:
    """A fan-out's whole list as the judge sees it."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(step.branches or [], 1))


def _judged_reasoning(step: TraceStep) -> str | None:
    if step.reasonings is not None:
        return "\n---\n".join(text for text in step.reasonings if text) or None
    return step.reasoning
