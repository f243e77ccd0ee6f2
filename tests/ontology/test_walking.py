"""Walks over small graphs against every way counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theworld.deadline import Deadline, DeadlineExceededError
from theworld.ontology import EntitySample, Labels, Lookup, Ontology, OntologyClass, Ref, Relation
from theworld.ontology.storing import to_edges
from theworld.ontology.walking import DECAY, HUB, OntologyGraph, walk
from theworld.stores.ledger.graph_tables import GraphEdgeRecord

NODES = 6


def labels(name: str) -> Labels:
    return Labels(en=(name,))


def small_graph(pairs: list[tuple[int, int, float]]) -> OntologyGraph:
    """Classes c0..c5 joined as if by relations' ranges, with the given weights."""
    classes = tuple(OntologyClass(id=f"c{i}", labels=labels(f"c{i}")) for i in range(NODES))
    relations = tuple(Relation(id=f"r{i}", labels=labels(f"r{i}"), source="c0", target=f"c{i}") for i in range(NODES))
    lookup = Lookup(Ontology(id="small", classes=classes, relations=relations))
    edges = [
        GraphEdgeRecord(("Relation", f"r{a}"), ("OntologyClass", f"c{b}"), "REFERS_TO", weight)
        for (a, b), weight in {(a, b): weight for a, b, weight in pairs}.items()
    ]
    return OntologyGraph(lookup, edges)


def every_way(graph: OntologyGraph, start: int, hops: int) -> dict[int, float]:
    best = {start: 1.0}
    level = dict(best)
    for _ in range(hops):
        following: dict[int, float] = {}
        for node, strength in level.items():
            for edge in range(graph.starts[node], graph.starts[node + 1]):
                target = int(graph.targets[edge])
                reached = strength * graph.damping[node] * graph.weights[edge] * DECAY
                following[target] = max(following.get(target, 0.0), reached)
        for node, strength in following.items():
            best[node] = max(best.get(node, 0.0), strength)
        level = following
    return {node: strength for node, strength in best.items() if strength > 0}


@settings(max_examples=60)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(0.01, 1)), max_size=20),
    start=st.integers(0, 2 * NODES - 1),
    hops=st.integers(0, 4),
)
def test_the_strongest_way_is_found_and_told(pairs: list[tuple[int, int, float]], start: int, hops: int) -> None:
    graph = small_graph(pairs)
    found = walk(graph, start, hops)
    expected = every_way(graph, start, hops)
    assert dict(zip(found.nodes.tolist(), found.strengths.tolist(), strict=True)) == pytest.approx(expected)
    for node, strength in zip(found.nodes.tolist(), found.strengths.tolist(), strict=True):
        way = found.way_to(node)
        passed = [start, *(one.target for one in way)]
        assert [one.source for one in way] == passed[:-1]
        assert len(set(passed)) == len(passed) <= hops + 1
        told = np.prod([graph.weights[w.edge] * graph.damping[w.source] * DECAY for w in way]) if way else 1
        assert strength == pytest.approx(told)


def test_a_hub_passes_less_to_each_and_only_to_the_strongest(monkeypatch: pytest.MonkeyPatch) -> None:
    members = tuple(EntitySample(id=f"s{i}", of="k", labels=labels(f"s{i}")) for i in range(4 * HUB))
    lookup = Lookup(Ontology(id="hub", classes=(OntologyClass(id="k", labels=labels("k")),), samples=members))
    graph = OntologyGraph(lookup, list(to_edges(lookup.ontology)))
    hub = graph.number[Ref("OntologyClass", "k")]
    assert graph.damping[hub] == pytest.approx(1 / (1 + np.log(4)))
    assert graph.damping[graph.number[Ref("EntitySample", "s0")]] == 1.0
    monkeypatch.setattr("theworld.ontology.walking.FAN_OUT", 10)
    assert len(walk(graph, hub).nodes) == 11


def test_facts_of_relations_that_are_not_named_count_less() -> None:
    facts = {"likes": ("b",)}
    samples = (
        EntitySample(id="a", of="k", labels=labels("a"), facts=facts),
        EntitySample(id="b", of="k", labels=labels("b")),
    )
    likes = Relation(id="likes", labels=labels("likes"), source="k", target="k")
    one = OntologyClass(id="k", labels=labels("k"))
    lookup = Lookup(Ontology(id="f", classes=(one,), relations=(likes,), samples=samples))
    graph = OntologyGraph(lookup, list(to_edges(lookup.ontology)))
    a, b = (graph.number[Ref("EntitySample", id_)] for id_ in "ab")
    strengths = []
    for named in ((), ("likes",)):
        found = walk(graph, a, 1, named=named)
        strengths.append(found.strengths[found.nodes.tolist().index(b)])
    assert strengths[0] == pytest.approx(0.4 * strengths[1])


def test_a_walk_without_time_left_stops() -> None:
    graph = small_graph([(0, 1, 1.0)])
    with pytest.raises(DeadlineExceededError):
        walk(graph, 0, deadline=Deadline(0.0, 0.001))
