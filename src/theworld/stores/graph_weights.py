"""The weight of an edge of the ontology graph: a mix of what the notes show, what the rules say and what people think.

weight = 0.3 co-occurrence + 0.4 rule + 0.3 confidence, each in [0, 1]. Where no note names either end, nothing is
known about co-occurrence: it is left out, and the other two keep their proportion. Unknown is not zero.

- co-occurrence of an edge between two elements: notes naming both, twice, over notes naming either (Dice). Of a note
  to an element: n / (n + 1) for n places.
- rule: the strength of the business rule, from the ontology (for a note: 1 for a preferred name, 0.9 for a synonym).
- confidence: how sure a person is, from the ontology.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SHARES: Mapping[str, float] = {"co_occurrence": 0.3, "rule": 0.4, "confidence": 0.3}
_DIGITS = 6


def mixed(parts: Mapping[str, float]) -> float:
    """Return the weight of known parts, in [0, 1], rounded so that equal parts give equal weights."""
    known = [name for name in SHARES if name in parts]
    if not known:
        return 0.0
    return round(sum(SHARES[name] * parts[name] for name in known) / sum(SHARES[name] for name in known), _DIGITS)


def note_parts(places: int, rule: float, confidence: float) -> dict[str, float]:
    """Return the parts of an edge from a note that names an element at so many places."""
    return {"co_occurrence": round(places / (places + 1), _DIGITS), "rule": rule, "confidence": confidence}


def co_occurrences(named: Iterable[tuple[int, int]], edges: Iterable[tuple[int, int]]) -> list[float | None]:
    """Return the Dice coefficient of each edge's ends, None where no note names either.

    `named` are (note, node) pairs.
    """
    notes: dict[int, set[int]] = {}
    for note, node in named:
        notes.setdefault(node, set()).add(note)
    found: list[float | None] = []
    for first, second in ((notes.get(source, set()), notes.get(target, set())) for source, target in edges):
        either = len(first) + len(second)
        found.append(round(2.0 * len(first & second) / either, _DIGITS) if either else None)
    return found
