"""Algorithms on directed graphs whose nodes are 0 … n-1: linear, and without recursion, so depth is no matter."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

Edges: TypeAlias = Sequence[Sequence[int]]
"""For each node, the nodes it leads to."""


def reverse(edges: Edges) -> list[list[int]]:
    """The same graph with every edge turned round."""
    turned: list[list[int]] = [[] for _ in edges]
    for node, targets in enumerate(edges):
        for target in targets:
            turned[target].append(node)
    return turned


def breadth_first(edges: Edges, start: int) -> dict[int, int]:
    """Every node that ``start`` leads to, nearest first, with the node it was reached from; ``start`` with itself."""
    origin = {start: start}
    waiting = deque((start,))
    while waiting:
        node = waiting.popleft()
        for target in edges[node]:
            if target not in origin:
                origin[target] = node
                waiting.append(target)
    return origin


def path_to(node: int, origin: dict[int, int]) -> list[int]:
    """The way from the start of a search to ``node``, both included, by the origins that the search returned."""
    path = [node]
    while origin[node] != node:
        node = origin[node]
        path.append(node)
    return path[::-1]


def leading_to(edges: Edges, goals: Iterable[int]) -> set[int]:
    """Every node from which some goal can be reached, the goals included."""
    turned = reverse(edges)
    found = set(goals)
    waiting = list(found)
    while waiting:
        for source in turned[waiting.pop()]:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return found


def components(edges: Edges) -> list[list[int]]:
    """The strongly connected components, each before every component that leads to it (Tarjan's order)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    placed = bytearray(len(edges))
    stack: list[int] = []
    found: list[list[int]] = []
    for root in range(len(edges)):
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        path = [(root, iter(edges[root]))]
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    path.append((target, iter(edges[target])))
                    break
                if not placed[target]:
                    low[node] = min(low[node], order[target])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == order[node]:
                    found.append(_unwind(stack, node, placed))
    return found


def _unwind(stack: list[int], root: int, placed: bytearray) -> list[int]:
    members = []
    while True:
        node = stack.pop()
        placed[node] = 1
        members.append(node)
        if node == root:
            return members


def is_cycle(component: Sequence[int], edges: Edges) -> bool:
    """Whether a strongly connected component holds a cycle: more than one node, or one that leads to itself."""
    return len(component) > 1 or component[0] in edges[component[0]]


def cheapest(edges: Edges, start: int, costs: Sequence[int]) -> dict[int, int]:
    """For every node that ``start`` leads to, the least cost of the nodes passed on the way, itself not counted."""
    spent = {start: 0}
    waiting = [(0, start)]
    while waiting:
        cost, node = heappop(waiting)
        if cost > spent[node]:
            continue
        onward = cost + costs[node]
        for target in edges[node]:
            if onward < spent.get(target, onward + 1):
                spent[target] = onward
                heappush(waiting, (onward, target))
    return spent


def longest(edges: Edges, start: int) -> list[int] | None:
    """The longest path from ``start``, or None when the part of the graph it leads to holds a cycle."""
    reached = breadth_first(edges, start)
    length: dict[int, int] = {}
    onward: dict[int, int] = {}
    for component in components([targets if node in reached else () for node, targets in enumerate(edges)]):
        node = component[0]
        if node not in reached:
            continue
        if is_cycle(component, edges):
            return None
        best = max(edges[node], key=length.__getitem__, default=None)
        length[node] = 1 if best is None else length[best] + 1
        if best is not None:
            onward[node] = best
    path = [start]
    while path[-1] in onward:
        path.append(onward[path[-1]])
    return path
