"""What a Qdrant collection is asked: plain values in, request models out."""

from __future__ import annotations

from typing import Any

from qdrant_client import models

from theworld.settings import DenseSettings
from theworld.stores.dense import qdrant_points as points
from theworld.stores.dense.qdrant_points import STATE, SpaceOnServer

SAMPLE = 512
"""Notes whose cosines tell mean and deviation: exact for fewer, else off by 4 % of the deviation."""
_CANDIDATES = 128
"""Notes looked at while the HNSW graph is followed: more than the hundred that a channel is asked for."""
_OVERSAMPLING = 2.0
"""How many times more notes than wanted are scored by the whole vectors, where small copies are searched."""


def search_params(settings: DenseSettings) -> models.SearchParams:
    """Return how the nearest are looked for."""
    small = models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
    return models.SearchParams(hnsw_ef=_CANDIDATES, quantization=None if settings.quantization == "none" else small)


def nearest(
    space: SpaceOnServer, vector: list[float], wanted: models.Filter, size: int, params: models.SearchParams
) -> models.QueryRequest:
    """Return the request for the nearest notes."""
    query = models.NearestQuery(nearest=vector)
    return models.QueryRequest(
        query=query, using=space.vector, filter=wanted, params=params, limit=size, with_payload=["note"]
    )


def sample(space: SpaceOnServer, vector: list[float], wanted: models.Filter) -> models.QueryRequest:
    """Return the request for the cosines of notes drawn by their lots."""
    order = models.OrderByQuery(order_by=models.OrderBy(key="lot"))
    drawn = models.Prefetch(query=order, filter=wanted, limit=SAMPLE)
    query = models.NearestQuery(nearest=vector)
    return models.QueryRequest(query=query, using=space.vector, prefetch=drawn, limit=SAMPLE)


def state() -> models.QueryRequest:
    """Return the request for the collection's state."""
    that = models.Filter(must=[models.HasIdCondition(has_id=[STATE])])
    return models.QueryRequest(filter=that, limit=1, with_payload=True)


def cosines(space: SpaceOnServer, vector: list[float], keys: list[str]) -> dict[str, Any]:
    """Return the options of a query for the cosines of these points."""
    return {
        "query": vector,
        "using": space.vector,
        "query_filter": points.in_space(space.vector, keys),
        "search_params": models.SearchParams(exact=True),
        "limit": len(keys),
        "with_payload": ["note"],
    }
