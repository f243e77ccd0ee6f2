"""The nearest notes by cosine, in every space that has notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from theworld.models.protocols import Embedder
from theworld.stores.protocols import DenseResult, DenseStore, Hit
from theworld.stores.records import Filters

EmbedderOf = Callable[[str], Embedder | None]
"""The embedder of a space, None when it is not configured."""


def merge_spaces(results: Mapping[str, DenseResult]) -> DenseResult:
    """Return one ranked list over several spaces, with the distribution that its scores are from.

    Cosines of different models are not comparable, so with more than one space the scores become z-scores within
    their own space: how far a note stands out from the notes its model made. Ties are ordered by note id.
    """
    if len(results) == 1:
        return next(iter(results.values()))
    merged = [
        Hit(hit.note_id, (hit.score - result.mean) / max(result.deviation, 1e-6))
        for result in results.values()
        for hit in result.hits
    ]
    return DenseResult(sorted(merged, key=lambda hit: (-hit.score, hit.note_id)), 0.0, float(bool(merged)))


def nearest(
    query: str, *, dense: DenseStore, embedder_of: EmbedderOf, tenant: str, filters: Filters, limit: int
) -> tuple[DenseResult, dict[str, int]]:
    """Return the nearest notes over all spaces, and how many notes the tenant has in each space searched."""
    counts = dense.spaces(tenant)
    embedders = {space: embedder for space in sorted(counts) if (embedder := embedder_of(space))}
    results: dict[str, DenseResult] = {}
    for space, embedder in embedders.items():
        vector = embedder.embed_query(query).vector
        results[space] = dense.search(space, vector, tenant=tenant, filters=filters, limit=limit)
    return replace(found := merge_spaces(results), hits=found.hits[:limit]), {space: counts[space] for space in results}
