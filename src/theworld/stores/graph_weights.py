"""The weight of an edge of the ontology graph: a mix of what the notes show, what the rules say and what people think.

weight = 0.3 co-occurrence + 0.4 rule + 0.3 confidence, each in [0, 1]. Where no note names either end, nothing is
known about co-occurrence: it is left out, and the other two keep their proportion. Unknown is not zero.

- co-occurrence of an edge between two elements: notes naming both, twice, over notes naming either (Dice). Of a note
  to an element: n / (n + 1) for n places.
- rule: the strength of the business rule, from the ontology (for a note: 1 for a preferred name, 0.9 for a synonym).
- confidence: how sure a person is, from the ontology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from theworld.models.protocols import FloatArray

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


def co_occurrences(
    named: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int]], nodes: int
) -> list[float | None]:
    """Return the Dice coefficient of each edge's ends, None where no note names either.

    `named` are (note, node) pairs, each once; nodes are numbered below `nodes`.
    """
    if not edges:
        return []
    notes = {note: i for i, note in enumerate(dict.fromkeys(note for note, _ in named))}
    rows = np.array([notes[note] for note, _ in named], dtype=np.int64)
    columns = np.array([node for _, node in named], dtype=np.int64)
    table = sparse.csc_matrix((np.ones(len(named), np.float32), (rows, columns)), shape=(max(len(notes), 1), nodes))
    count: FloatArray = np.asarray(table.sum(axis=0)).ravel()
    sources, targets = (np.array(ends, dtype=np.int64) for ends in zip(*edges, strict=True))
    both = np.asarray(table[:, sources].multiply(table[:, targets]).sum(axis=0)).ravel()
    either = count[sources] + count[targets]
    return [round(2.0 * float(b) / float(e), _DIGITS) if e else None for b, e in zip(both, either, strict=True)]
