"""One query to one decision: its path, and from it which channels run, how deep, and whether notes are reranked."""

from __future__ import annotations

from collections.abc import Mapping

from theworld.routing.features import DatabaseView, Features, features_of
from theworld.routing.history import with_history
from theworld.routing.strategies import Choice, Strategy
from theworld.settings import Settings
from theworld.state import Channel, ChannelPlan, Context, RouteDecision

SHORT_MS, SHORTEST_MS = 150.0, 60.0
"""Budgets below which half as many candidates are asked for, and below which nothing is reranked."""
OFF = "off"
"""Strategy name of a request that was not routed."""


def route(
    query: str,
    context: Context,
    settings: Settings,
    strategy: Strategy,
    *,
    database: DatabaseView | None = None,
    outcomes: Mapping[str, tuple[int, int]] | None = None,
) -> RouteDecision:
    """Return the decision for one query; a caller's own choices win.

    `outcomes` are (successes, attempts) of each path, from logged feedback.
    """
    features = features_of(query, context, settings, database=database)
    if not (settings.router.enabled if context.router is None else context.router):
        choice = Choice("hybrid", "question", 0.5, ("the router is off: every way is tried",))
        return allocate(choice, features, context, settings, strategy=OFF)
    choice = with_history(strategy.choose(query, features), outcomes or {})
    return allocate(choice, features, context, settings, strategy=strategy.name)


def allocate(
    choice: Choice, features: Features, context: Context, settings: Settings, *, strategy: str
) -> RouteDecision:
    """Return the decision of a choice. Every path but `none` asks all channels alike; the caller always wins.

    How much each channel counts is decided by what it brings (`fuse_candidates`), not by the question's wording. A
    choice that is not sure enough is widened to `hybrid`.
    """
    choice = _widened(choice, settings.router.min_confidence)
    reasons = [*choice.reasons]
    channels, rerank, path = _channels(choice, settings), settings.rerank.kind != "none", choice.path
    has_database = features.database.available
    ask = has_database and path in {"sql", "hybrid"} and (path == "sql" or choice.confidence < 1)
    if not _graph_is_on(context, settings) and context.channels is None:
        channels.pop("graph", None)
        reasons.append("graph retrieval is off")
        path = "hybrid" if path == "graph" else path
    if context.channels is not None:
        chosen = [name for name in dict.fromkeys(context.channels) if name != "graph" or context.graph is not False]
        channels = {name: _plan(name, settings) for name in chosen}
        path = chosen[0] if len(chosen) == 1 else "hybrid" if chosen else "none"
        ask = False
        reasons.append(f"the caller chose {', '.join(chosen) or 'no channel'}")
    if context.database is not None:
        ask = context.database and has_database
        reasons.append(f"the caller {'asks' if context.database else 'does not ask'} for the database")
        if ask and path == "none" and context.channels is None:
            path = "sql"
    if context.rerank is not None:
        rerank = context.rerank and settings.rerank.kind != "none"
        reasons.append(f"the caller chose {'reranking' if context.rerank else 'no reranking'}")
    elif features.deadline_ms < SHORTEST_MS and rerank:
        rerank = False
        reasons.append(f"budget of {features.deadline_ms:.0f} ms: no reranking")
    if features.deadline_ms < SHORT_MS and context.channels is None:
        channels = {name: plan.model_copy(update={"top_k": max(1, plan.top_k // 2)}) for name, plan in channels.items()}
        reasons.append(f"budget of {features.deadline_ms:.0f} ms: half as many candidates")
    spent = features.tokens_left is not None and features.tokens_left <= 0
    if spent:
        reasons.append("no tokens left: no language model")
    if path == "sql" and not ask:
        path = "hybrid" if channels else "none"
    return RouteDecision(
        path=path,
        intent=choice.intent,
        channels=channels,
        database=ask,
        rerank=rerank,
        model=not spent,
        confidence=1.0 if context.channels is not None else choice.confidence,
        reasons=(f"intent {choice.intent}", *reasons),
        strategy=strategy,
    )


def _widened(choice: Choice, least: float) -> Choice:
    if choice.confidence >= least or choice.path == "hybrid":
        return choice
    said = f"{choice.path} at confidence {choice.confidence:.2f} is widened to hybrid"
    return choice._replace(path="hybrid", reasons=(*choice.reasons, said))


def _channels(choice: Choice, settings: Settings) -> dict[Channel, ChannelPlan]:
    names: tuple[Channel, ...] = () if choice.path == "none" else ("sparse", "dense", "graph")
    return {name: _plan(name, settings) for name in names}


def _plan(name: Channel, settings: Settings) -> ChannelPlan:
    fusion = settings.retrieval.fusion
    weight = {"sparse": fusion.sparse_weight, "dense": fusion.dense_weight, "graph": fusion.graph_weight}[name]
    return ChannelPlan(top_k=settings.retrieval.per_channel, weight=weight)


def _graph_is_on(context: Context, settings: Settings) -> bool:
    return settings.retrieval.graph if context.graph is None else context.graph
