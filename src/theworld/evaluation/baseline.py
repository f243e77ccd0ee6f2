"""The frozen baseline that every gain is measured against (specification, retrieval: "M3 baseline").

Dense + sparse, scores min-max normalised, 0.55 / 0.45, no graph, no rerank, 100 candidates a channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

DENSE_WEIGHT, SPARSE_WEIGHT = 0.55, 0.45
DEPTH = 100


def m3_baseline(dense: Sequence[tuple[str, float]], sparse: Sequence[tuple[str, float]]) -> list[str]:
    """Return note ids, best first, from the (note id, score) lists of both channels; ties by note id."""
    return list(baseline_scores(dense, sparse))


def baseline_scores(dense: Sequence[tuple[str, float]], sparse: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return note id -> baseline score in [0, 1], best first.

    Each channel's scores are min-max normalised over the union of both lists, where a note that a channel did not
    return counts as its last one, so 0. Where all hits of a channel score the same, each counts 1.
    """
    normal_dense, normal_sparse = normalised(dense[:DEPTH]), normalised(sparse[:DEPTH])
    total = {
        note: DENSE_WEIGHT * normal_dense.get(note, 0.0) + SPARSE_WEIGHT * normal_sparse.get(note, 0.0)
        for note in {**normal_dense, **normal_sparse}
    }
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def normalised(hits: Sequence[tuple[str, float]]) -> Mapping[str, float]:
    """Return scores scaled to [0, 1]: the least becomes 0, the greatest 1."""
    if not hits:
        return {}
    scores = [score for _, score in hits]
    low, spread = min(scores), max(scores) - min(scores)
    return {note: (score - low) / spread if spread else 1.0 for note, score in hits}
