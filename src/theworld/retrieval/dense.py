"""The nearest notes by cosine, in every space that has notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from theworld.models.protocols import Embedder
from theworld.stores.protocols import DenseResult, DenseStore, Hit
from theworld.stores.records import Filters

EmbedderOf = Callable[[str], Embedder | None]
"""The embedder of a space, None when it is not configured."""


def nearest(
    query: str, *, dense: DenseStore, embedder_of: EmbedderOf, tenant: str, filters: Filters, limit: int
) -> tuple[DenseResult, dict[str, int]]:
    """Return the nearest notes over all spaces, and how many notes the tenant has in each space searched.

    Cosines of different models are not comparable, so with more than one space the scores become z-scores within
    their own space: how far a note stands out from the notes its model made. Ties are ordered by note id.
    """
    counts = dense.spaces(tenant)
    embedders = {space: embedder for space in sorted(counts) if (embedder := embedder_of(space))}
    results = [
        dense.search(space, embedder.embed_query(query).vector, tenant=tenant, filters=filters, limit=limit)
        for space, embedder in embedders.items()
    ]
    searched = {space: counts[space] for space in embedders}
    if len(results) == 1:
        return replace(results[0], hits=results[0].hits[:limit]), searched
    hits = [
        Hit(hit.note_id, (hit.score - result.mean) / max(result.deviation, 1e-6))
        for result in results
        for hit in result.hits
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.note_id))
    return DenseResult(hits[:limit], 0.0, float(bool(hits))), searched
