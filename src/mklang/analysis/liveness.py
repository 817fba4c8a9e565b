"""When the blackboard is written and read along the ways through a machine: what may be there, what is still needed.

Sets of keys are kept as bits of integers, so that a machine of thousands of states takes milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from mklang.analysis.dataflow import Dataflow, judges_output
from mklang.analysis.digraph import reverse
from mklang.analysis.graph import Graph


def never_written_before(graph: Graph, data: Dataflow, keys: Iterable[str]) -> list[tuple[int, str]]:
    """Pairs (state, key) where the state runs, and on no way to it has any state written the key yet."""
    bits = {key: 1 << number for number, key in enumerate(keys)}
    if not bits:
        return []
    before = _written_before(graph, bits)
    return [
        (number, key)
        for number in sorted(graph.origins)
        for key in dict.fromkeys(read.placeholder.root for read in data.reads[number])
        if key in bits and not before[number] & bits[key]
    ]


def _written_before(graph: Graph, bits: Mapping[str, int]) -> list[int]:
    """For each state, the keys that some way from the entry has written. Components come callers last, so walk back."""
    before = [0] * len(graph.states)
    for component in reversed(graph.components):
        if component[0] not in graph.origins:
            continue
        own = 0
        for node in component:
            own |= bits.get(graph.states[node].output, 0)
        arriving = 0
        for node in component:
            arriving |= before[node]
        looped = len(component) > 1 or component[0] in graph.targets[component[0]]
        for node in component:
            before[node] = arriving | own if looped else arriving
            leaving = before[node] | own
            for target in graph.targets[node]:
                before[target] |= leaving
    return before


def overwritten_unread(graph: Graph, data: Dataflow, result: str | None) -> list[int]:
    """States whose output some other state always replaces before anything that names it can read it."""
    shared = {key for key, numbers in data.writers.items() if len(numbers) > 1 and key in data.used}
    bits = {key: 1 << number for number, key in enumerate(sorted(shared))}
    if not bits:
        return []
    needed_after = _needed_after(graph, data, result, bits)
    return [
        number
        for number in sorted(graph.origins)
        if (bit := bits.get(graph.states[number].output)) and not needed_after[number] & bit
    ]


def _needed_after(graph: Graph, data: Dataflow, result: str | None, bits: Mapping[str, int]) -> list[int]:
    """For each state, the keys that are read, once its output is written, before they are written again."""
    after = [_bits_of(_own_needs(number, graph, data, result), bits) for number in range(len(graph.states))]
    needs = [
        _bits_of((read.placeholder.root for read in data.reads[n] + data.literal[n]), bits) for n in range(len(after))
    ]
    kept = [-1 if state.accumulate else ~bits.get(state.output, 0) for state in graph.states]
    turned = reverse(graph.targets)
    waiting = deque(reversed(graph.origins))
    queued = set(waiting)
    while waiting:
        node = waiting.popleft()
        queued.discard(node)
        arriving = needs[node] | (after[node] & kept[node])
        for source in turned[node]:
            if arriving & ~after[source]:
                after[source] |= arriving
                if source not in queued:
                    queued.add(source)
                    waiting.append(source)
    return after


def _own_needs(number: int, graph: Graph, data: Dataflow, result: str | None) -> set[str]:
    """What the state's own decision, or the end of the run behind it, reads."""
    state = graph.states[number]
    keys = set(data.hook_keys[number])
    if judges_output(state):
        keys.add(state.output)
    if number in graph.ending:
        keys.add(state.output if result is None else result)
    return keys


def _bits_of(keys: Iterable[str], bits: Mapping[str, int]) -> int:
    found = 0
    for key in keys:
        found |= bits.get(key, 0)
    return found
