"""The graph of nodes as the service compiled it, laid out in layers from the top to the bottom.

Sugiyama's way, small: a node stands one layer below the lowest node it follows; an edge that passes layers gets a point
in each; layers are ordered by the mean place of their neighbours, down and up, until nothing moves. Positions are in
units of one node (width) and one layer (height).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import fmean

from fastapi import Request
from pydantic import BaseModel, Field

from theworld.graph.build import CompiledGraph
from theworld.service.api.access import Querying
from theworld.service.api.replies import GUARDED, router_of
from theworld.service.api.serving import enveloped, service_of

_SWEEPS = 23
"""Down first and last: by then nothing moves any more but back and forth."""
_POINT = "\x1f"
"""Stands in the name of a point of an edge; no node's name holds it."""

Edges = list[tuple[str, str]]


class PlacedNode(BaseModel):
    """A node with its place."""

    name: str = Field(description="As the graph names it; __start__ and __end__ too")
    x: float = Field(description="Centre, in widths of a node, from 0")
    y: int = Field(description="Layer from the top, from 0")


class PlacedEdge(BaseModel):
    """A possible step from a node to the next."""

    source: str = Field(description="Node before")
    target: str = Field(description="Node after")
    conditional: bool = Field(description="Whether it is taken only in some cases")
    points: list[tuple[float, int]] = Field(description="Places it passes, both ends included")


class NodeGraph(BaseModel):
    """What may run after what."""

    nodes: list[PlacedNode] = Field(description="From the top to the bottom")
    edges: list[PlacedEdge] = Field(description="Of the compiled graph, all of them")
    width: float = Field(description="Widest layer, in nodes")
    height: int = Field(description="Number of layers")


router = router_of("on record", *GUARDED)


@enveloped(router.get, "/nodes", "The graph of nodes, laid out")
async def nodes(request: Request, _caller: Querying) -> NodeGraph:
    """Return the nodes of the compiled graph and the steps between them, with places to draw them at."""
    return placed(service_of(request).graph)


def placed(graph: CompiledGraph) -> NodeGraph:
    """Return a compiled graph with its layout."""
    drawn = graph.get_graph()
    conditional = {(edge.source, edge.target): edge.conditional for edge in drawn.edges}
    edges = sorted(conditional)
    before: dict[str, list[str]] = {name: [] for name in drawn.nodes}
    for source, target in edges:
        before[target].append(source)
    layer: dict[str, int] = {}  # the longest way to each node; CycleError where steps run in a circle
    for name in TopologicalSorter(before).static_order():
        layer[name] = max((layer[one] + 1 for one in before[name]), default=0)
    routes: list[list[str]] = []
    for source, target in edges:
        points = [f"{source}{_POINT}{target}{_POINT}{level}" for level in range(layer[source] + 1, layer[target])]
        routes.append([source, *points, target])
    for route in routes:
        layer |= {name: layer[route[0]] + step for step, name in enumerate(route)}
    x = _places(layer, [step for route in routes for step in pairwise(route)])
    lines = []
    for edge, route in zip(edges, routes, strict=True):
        places = [(x[name], layer[name]) for name in route]
        lines.append(PlacedEdge(source=edge[0], target=edge[1], conditional=conditional[edge], points=places))
    names = sorted(drawn.nodes, key=layer.__getitem__)
    placed_nodes = [PlacedNode(name=name, x=x[name], y=layer[name]) for name in names]
    return NodeGraph(nodes=placed_nodes, edges=lines, width=max(x.values()) + 1, height=max(layer.values()) + 1)


def _places(layer: Mapping[str, int], steps: Edges) -> dict[str, float]:
    """Return x by name: layers are ordered so that few steps cross, and centred; points of edges take less room."""
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in sorted(layer):
        rows[layer[name]].append(name)
    before, after = defaultdict(list), defaultdict(list)
    for source, target in steps:
        before[target].append(source)
        after[source].append(target)
    for sweep in range(_SWEEPS):
        neighbours, order = (before, rows) if sweep % 2 == 0 else (after, rows[::-1])
        for fixed, row in pairwise(order):
            place = {name: index for index, name in enumerate(fixed)}
            row.sort(key=lambda name: fmean([place[other] for other in neighbours[name] if other in place] or [0]))
    found: dict[str, float] = {}
    widths = [[0.14 if _POINT in name else 1.0 for name in row] for row in rows]
    widest = max(map(sum, widths))
    for row, width in zip(rows, widths, strict=True):
        left = (widest - sum(width)) / 2
        for name, wide in zip(row, width, strict=True):
            found[name] = left + wide / 2 - 0.5
            left += wide
    least = min(found.values())
    return {name: x - least for name, x in found.items()}
