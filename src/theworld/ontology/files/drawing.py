"""An ontology as a picture: an SVG that needs nothing else."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theworld.errors import OntologyError
from theworld.ontology.lookup import Lookup
from theworld.ontology.model import Ontology, OntologyClass
from theworld.text import Language, cjk_share

ATTRIBUTES_SHOWN = 6
MOST_DRAWN = 500
"""Classes of an SVG; placing them takes time with the square of their number, and nobody finds one among more."""
FONTS = "Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif"
LINE, PADDING, SPREAD = 16, 10, 230
"""Height of a text line, space around text in a box, and distance of neighbours, in pixels."""
Point = tuple[float, float]


class _Box(NamedTuple):
    lines: tuple[str, ...]
    colour: str
    width: float
    height: float


_HEAD = """\
<defs>
<marker id="a" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0L10 5L0 10z" fill="#456"/></marker>
<marker id="i" viewBox="0 0 12 12" refX="12" refY="6" markerWidth="12" markerHeight="12" orient="auto">
<path d="M0 0L12 6L0 12z" fill="#fff" stroke="#555"/></marker>
</defs>
<rect width="100%" height="100%" fill="#fff"/>"""
"""The arrows of relations and of INHERITS, and the ground."""


def to_svg(ontology: Ontology, language: Language = "en", around: Sequence[str] = (), hops: int = 1) -> str:
    """Return an SVG: boxes with attributes and capabilities; hollow arrows are INHERITS, labelled ones relations.

    Raises OntologyError for more than `MOST_DRAWN` classes.
    """
    lookup = Lookup(ontology)
    classes, links = _shown(ontology, language, around, hops)
    if len(classes) > MOST_DRAWN:
        raise OntologyError(
            f"it has {len(classes)} classes to draw, which is more than {MOST_DRAWN}.",
            where=ontology.id,
            remedy="Draw what is around one of them (--around).",
        )
    boxes: dict[str, _Box] = {}
    for one in classes:
        attributes = [attribute.labels.preferred(language) for attribute in one.attributes]
        more = [f"… +{len(attributes) - ATTRIBUTES_SHOWN}"] if len(attributes) > ATTRIBUTES_SHOWN else []
        able = [f"⚙ {lookup.capabilities[id_].labels.preferred(language)}" for id_ in one.capabilities]
        lines = (one.labels.preferred(language), *attributes[:ATTRIBUTES_SHOWN], *more, *able)
        size = max(map(_width, lines)) + 2 * PADDING, LINE * len(lines) + 2 * PADDING
        boxes[one.id] = _Box(lines, "#eef4fb" if one.table else "#f6f2e8", *size)
    centres = _spread(boxes, _stress_layout(list(boxes), [ends for ends, _ in links]))
    loops = max((_width(label) for (a, b), labels in links if a == b for label in labels), default=0)
    width = max((x + boxes[id_].width / 2 for id_, (x, _) in centres.items()), default=0) + 40 + loops
    height = max((y + boxes[id_].height / 2 for id_, (_, y) in centres.items()), default=0) + 40
    drawn = [_drawn_link(*ends, labels, boxes, centres) for ends, labels in links]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONTS}" font-size="12">',
        f"<title>{escape(ontology.description.of(language) or ontology.id)}</title>{_HEAD}",
        *(line for line, _ in drawn),
        *(_drawn_box(box, *centres[id_]) for id_, box in boxes.items()),
        *(labels for _, labels in drawn if labels),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


Link = tuple[tuple[str, str], list[str]]
"""Source and target, and the names of the relations between them; none where the source inherits the target."""


def _shown(
    ontology: Ontology, language: Language, around: Sequence[str], hops: int
) -> tuple[list[OntologyClass], list[Link]]:
    """Return all classes, or those at most so many links away from the given ones, and the links between them."""
    shown = {one.id for one in ontology.classes}
    links = [((one.id, parent), list[str]()) for one in ontology.classes for parent in one.inherits]
    relations: dict[tuple[str, str], list[str]] = defaultdict(list)
    for relation in ontology.relations:
        relations[relation.source, relation.target].append(relation.labels.preferred(language))
    links += relations.items()  # relations between the same two share a line
    if around:
        shown = set(around)
        for _ in range(hops):
            shown |= {end for ends, _ in links if shown & {*ends} for end in ends}
    links = [(ends, labels) for ends, labels in links if shown >= {*ends}]
    return [one for one in ontology.classes if one.id in shown], links


def _width(text: str) -> float:
    return sum(12.0 if cjk_share(c) else 6.8 for c in text)


def _stress_layout(ids: Sequence[str], links: Sequence[tuple[str, str]]) -> dict[str, Point]:
    """Return places whose distances follow the graph's, by stress majorization (Gansner, Koren and North, 2004)."""
    n = len(ids)
    place = {id_: i for i, id_ in enumerate(ids)}
    distance = np.full((n, n), np.inf)
    np.fill_diagonal(distance, 0)
    for source, target in links:
        a, b = place[source], place[target]
        if a != b:
            distance[a, b] = distance[b, a] = 1
    for k in range(n):
        distance = np.minimum(distance, distance[:, k : k + 1] + distance[k : k + 1])
    far = distance[np.isfinite(distance)].max(initial=1.0)
    distance = np.where(np.isfinite(distance), distance, far + 1) * SPREAD
    angle = 2 * math.pi * np.arange(n) / max(n, 1)
    points: NDArray[np.float64] = np.column_stack([np.cos(angle), np.sin(angle)]) * SPREAD * max(n, 1) / 6
    weight = np.where(distance > 0, 1 / np.maximum(distance, 1e-9) ** 2, 0.0)
    for _ in range(300):
        gap = points[:, None] - points[None]
        length = np.maximum(np.linalg.norm(gap, axis=2), 1e-9)
        wanted = points[None] + gap * (distance / length)[..., None]
        total = weight.sum(axis=1, keepdims=True)
        points = (weight[..., None] * wanted).sum(axis=1) / np.maximum(total, 1e-12)
    return {id_: (float(points[i, 0]) * 1.5, float(points[i, 1])) for id_, i in place.items()}


def _spread(boxes: Mapping[str, _Box], centres: Mapping[str, Point]) -> dict[str, Point]:
    """Push boxes apart until none lies on another, and move all to the top left."""
    points = dict(centres)
    for _ in range(200):
        moved = False
        for a, b in combinations(points, 2):
            (ax, ay), (bx, by) = points[a], points[b]
            over_x = (boxes[a].width + boxes[b].width) / 2 + 60 - abs(ax - bx)
            over_y = (boxes[a].height + boxes[b].height) / 2 + 36 - abs(ay - by)
            if over_x > 0 and over_y > 0:
                moved = True
                aside = over_x < over_y
                push_x = math.copysign(over_x / 2, ax - bx or 1) if aside else 0.0
                push_y = 0.0 if aside else math.copysign(over_y / 2, ay - by or 1)
                points[a], points[b] = (ax + push_x, ay + push_y), (bx - push_x, by - push_y)
        if not moved:
            break
    left = min((x - boxes[id_].width / 2 for id_, (x, _) in points.items()), default=0) - 30
    top = min((y - boxes[id_].height / 2 for id_, (_, y) in points.items()), default=0) - 30
    return {id_: (x - left, y - top) for id_, (x, y) in points.items()}


def _edge_point(box: _Box, centre: Point, towards: Point) -> Point:
    """Return where the line from a box's centre leaves it."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = max(abs(dx) / (box.width / 2), abs(dy) / (box.height / 2), 1e-9)
    return centre[0] + dx / scale, centre[1] + dy / scale


def _drawn_link(
    source: str, target: str, labels: Sequence[str], boxes: Mapping[str, _Box], centres: Mapping[str, Point]
) -> tuple[str, str]:
    """Return the line of a link and its labels, which are empty for INHERITS."""
    style = 'stroke="#456" marker-end="url(#a)"' if labels else 'stroke="#555" marker-end="url(#i)"'
    box, centre, other = boxes[source], centres[source], centres[target]
    if source == target:
        x, y, anchor = centre[0] + box.width / 2, centre[1] - box.height / 2, "start"
        drawn = f'<path d="M{x:.0f} {y + 14:.0f}c40 -10 40 -44 -24 -14" fill="none" {style}/>'
        x, y = x + 30, y - 6 - 13 * (len(labels) - 1)
    else:
        (x1, y1), (x2, y2) = _edge_point(box, centre, other), _edge_point(boxes[target], other, centre)
        drawn = f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" {style}/>'
        x, y, anchor = (x1 + x2) / 2, (y1 + y2) / 2 - 6 * (len(labels) - 1), "middle"
    lines = "".join(
        f'<tspan x="{x:.0f}" dy="{13 if i else 0}">{escape(label)}</tspan>' for i, label in enumerate(labels)
    )
    told = (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="#246" font-size="11" '
        f'paint-order="stroke" stroke="#fff" stroke-width="4">{lines}</text>'
    )
    return drawn, told if labels else ""


def _drawn_box(box: _Box, x: float, y: float) -> str:
    left, top = x - box.width / 2, y - box.height / 2
    frame = (
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="6" '
        f'fill="{box.colour}" stroke="#789"/>'
    )
    styles = 'font-weight="bold"', 'fill="#444"'
    texts = (
        f'<text x="{left + PADDING:.0f}" y="{top + PADDING + LINE * (i + 0.75):.0f}" '
        f"{styles[i > 0]}>{escape(line)}</text>"
        for i, line in enumerate(box.lines)
    )
    return "".join(["<g>", frame, *texts, "</g>"])
