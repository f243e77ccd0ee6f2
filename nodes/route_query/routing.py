"""One query to one decision: features, strategy, history, exploration, allocation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from theworld.nodes.route_query.allocation import allocate
from theworld.nodes.route_query.features import DatabaseView, Features, features_of
from theworld.nodes.route_query.strategies import Choice, Strategy, with_history
from theworld.settings import Settings
from theworld.state import Context, RouteDecision, RoutePath

OFF = "off"
"""Strategy name of a request that was not routed."""
_EXPLORED: tuple[RoutePath, ...] = ("sparse", "dense", "graph", "hybrid")


def route(
    query: str,
    context: Context,
    settings: Settings,
    strategy: Strategy,
    *,
    database: DatabaseView | None = None,
    outcomes: Mapping[str, tuple[int, int]] | None = None,
) -> RouteDecision:
    """Return the decision for one query; a caller's own choices win."""
    features = features_for(query, context, settings, database)
    if not (settings.router.enabled if context.router is None else context.router):
        choice = Choice("hybrid", "question", 0.5, ("the router is off: every way is tried",))
        return allocate(choice, features, context, settings, strategy=OFF)
    choice = with_history(strategy.choose(query, features), outcomes or {})
    choice, propensity = explored(query, choice, settings.router.exploration)
    decision = allocate(choice, features, context, settings, strategy=strategy.name)
    return decision.model_copy(update={"propensity": propensity})


def features_for(query: str, context: Context, settings: Settings, database: DatabaseView | None) -> Features:
    """Return the features of a query under the budget of its request."""
    deadline = float(context.deadline_ms or settings.retrieval.deadline_ms)
    whole = deadline if context.total_deadline_ms is None else float(context.total_deadline_ms)
    return features_of(query, context, deadline_ms=min(deadline, whole), database=database)


def explored(query: str, choice: Choice, share: float) -> tuple[Choice, float]:
    """Return the choice, or by the hash of the query in a share of cases another; and the probability it had.

    Small talk and questions to the database are never explored.
    """
    if share <= 0 or choice.path not in _EXPLORED:
        return choice, 1.0
    draw = int.from_bytes(hashlib.blake2b(query.encode("utf-8", "replace"), digest_size=8).digest(), "big") / 2**64
    each = share / len(_EXPLORED)
    if draw >= share:
        return choice, 1.0 - share + each
    other = _EXPLORED[min(int(draw / each), len(_EXPLORED) - 1)]
    probability = each + (1.0 - share if other == choice.path else 0.0)
    return choice._replace(path=other, confidence=1.0, reasons=(*choice.reasons, f"exploration: {other}")), probability
