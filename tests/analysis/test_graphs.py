"""The graph algorithms against slower ones that are obviously right, and on graphs deeper than Python's stack."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mklang.analysis.digraph import (
    breadth_first,
    cheapest,
    components,
    is_cycle,
    leading_to,
    longest,
    path_to,
)

DEEP = 50_000


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(1, 8))
    return [draw(st.lists(st.integers(0, size - 1), max_size=4, unique=True)) for _ in range(size)]


def reach(edges: list[list[int]], start: int) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += edges[node]
    return found


def simple_paths(edges: list[list[int]], start: int) -> list[list[int]]:
    whole, waiting = [], [[start]]
    while waiting:
        path = waiting.pop()
        whole.append(path)
        waiting += [[*path, target] for target in edges[path[-1]] if target not in path]
    return whole


@given(graphs())
def test_breadth_first_finds_what_can_be_reached_by_shortest_paths(edges: list[list[int]]) -> None:
    origin = breadth_first(edges, 0)
    assert set(origin) == reach(edges, 0)
    for node in origin:
        path = path_to(node, origin)
        assert path[0] == 0 and path[-1] == node
        assert all(target in edges[source] for source, target in pairwise(path))
        assert len(path) == min(len(other) for other in simple_paths(edges, 0) if other[-1] == node)


@given(graphs(), st.sets(st.integers(0, 7)))
def test_leading_to_finds_every_node_from_which_a_goal_can_be_reached(edges: list[list[int]], goals: set[int]) -> None:
    goals = {goal for goal in goals if goal < len(edges)}
    assert leading_to(edges, goals) == {node for node in range(len(edges)) if reach(edges, node) & goals}


@given(graphs())
def test_components_are_mutually_reachable_and_come_before_their_callers(edges: list[list[int]]) -> None:
    found = components(edges)
    assert sorted(node for component in found for node in component) == list(range(len(edges)))
    for position, component in enumerate(found):
        for node in component:
            assert {other for other in reach(edges, node) if node in reach(edges, other)} == set(component)
            later = {other for behind in found[position + 1 :] for other in behind}
            assert not later & set(edges[node])


@given(graphs(), st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_cheapest_counts_what_is_passed_before_a_node(edges: list[list[int]], costs: list[int]) -> None:
    paths = simple_paths(edges, 0)
    best = {
        node: min(sum(costs[one] for one in path[:-1]) for path in paths if path[-1] == node)
        for node in reach(edges, 0)
    }
    assert cheapest(edges, 0, costs) == best


@given(graphs())
def test_longest_is_the_longest_path_where_there_is_no_cycle(edges: list[list[int]]) -> None:
    reached = reach(edges, 0)
    cyclic = any(is_cycle(part, edges) and set(part) <= reached for part in components(edges))
    path = longest(edges, 0)
    assert (path is None) == cyclic
    if path is not None:
        assert all(target in edges[source] for source, target in pairwise(path))
        assert len(path) == max(len(other) for other in simple_paths(edges, 0))


def test_depth_is_no_matter() -> None:
    chain = [[node + 1] for node in range(DEEP - 1)] + [[]]
    assert len(components(chain)) == DEEP
    path = longest(chain, 0)
    assert path is not None and len(path) == DEEP
    ring = [*chain[:-1], [0]]
    assert [len(part) for part in components(ring)] == [DEEP]
    assert len(path_to(DEEP - 1, breadth_first(ring, 0))) == DEEP
