"""One query to one decision: its path, and from it which channels run, how deep, and whether notes are reranked."""

from __future__ import annotations

from collections.abc import Mapping

from theworld.routing.features import DatabaseView, Features, features_of
from theworld.routing.history import with_history
from theworld.routing.strategies import Choice, Strategy
from theworld.settings import Settings
from theworld.state import Channel, ChannelPlan, Context, RouteDecision, RoutePath

SHORT_MS, SHORTEST_MS = 150.0, 60.0
"""Budgets below which half as many candidates are asked for, and below which nothing is reranked."""
LEAST_CONFIDENCE = 0.45
"""Below, a choice is widened to hybrid: trying every way costs some milliseconds, a wrong way the answer."""
WEIGHTS: dict[Channel, float] = {"sparse": 0.45, "dense": 0.55, "graph": 1.0, "ontology": 1.0}
"""Of each channel in fusion; the graph's counts times the share that its list earns on each question, that of words and
meaning times the rest (`ranking/graph_share.py`, which was fitted over them)."""
GRAPHS = {"graph", "ontology"}
"""Channels of the switch for graph retrieval."""
OFF = "off"
"""Strategy name of a request that was not routed."""


def route(
    query: str,
    context: Context,
    settings: Settings,
    strategy: Strategy,
    *,
    database: DatabaseView | None = None,
    ontology: bool = False,
    outcomes: Mapping[str, tuple[int, int]] | None = None,
) -> RouteDecision:
    """Return the decision for one query; a caller's own choices win.

    `ontology` says whether there is one; `outcomes` are (successes, attempts) of each path, from logged feedback.
    """
    features = features_of(query, context, settings, database=database, ontology=ontology)
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
    if choice.confidence < LEAST_CONFIDENCE and choice.path != "hybrid":
        said = f"{choice.path} at confidence {choice.confidence:.2f} is widened to hybrid"
        choice = choice._replace(path="hybrid", reasons=(*choice.reasons, said))
    reasons = [f"intent {choice.intent}", *choice.reasons]
    available, sure = features.database.available, choice.path == "hybrid" and choice.confidence == 1
    database = available and choice.path in {"sql", "hybrid"} and not sure and context.channels is None
    path, names = _channels(choice, features, context, settings, reasons)
    if context.database is not None:
        database = context.database and available
        reasons.append(f"the caller {'asks' if context.database else 'does not ask'} for the database")
        if database and path == "none" and context.channels is None:
            path = "sql"
    if path == "sql" and not database:
        path = "hybrid" if names else "none"
    budget, tokens, rerank = features.deadline_ms, features.tokens_left, settings.rerank.kind != "none"
    if context.rerank is not None:
        rerank = rerank and context.rerank
        reasons.append(f"the caller chose {'reranking' if context.rerank else 'no reranking'}")
    elif rerank and budget < SHORTEST_MS:
        rerank = False
        reasons.append(f"budget of {budget:.0f} ms: no reranking")
    most = settings.retrieval.per_channel
    if budget < SHORT_MS and context.channels is None:
        most = max(1, most // 2)
        reasons.append(f"budget of {budget:.0f} ms: half as many candidates")
    if tokens is not None and tokens <= 0:
        reasons.append("no tokens left: no language model")
    return RouteDecision(
        path=path,
        intent=choice.intent,
        channels={name: ChannelPlan(top_k=most, weight=WEIGHTS[name]) for name in names},
        database=database,
        rerank=rerank,
        model=tokens is None or tokens > 0,
        confidence=1.0 if context.channels is not None else choice.confidence,
        reasons=tuple(reasons),
        strategy=strategy,
    )


def _channels(
    choice: Choice, features: Features, context: Context, settings: Settings, reasons: list[str]
) -> tuple[RoutePath, list[Channel]]:
    """Return the path and its channels: the caller's where there are any, without the graph where that is off."""
    if context.channels is not None:
        asked = dict.fromkeys(context.channels)
        chosen = [name for name in asked if name not in GRAPHS or context.graph is not False]
        reasons.append(f"the caller chose {', '.join(chosen) or 'no channel'}")
        return chosen[0] if len(chosen) == 1 else "hybrid" if chosen else "none", chosen
    names: list[Channel] = ["sparse", "dense", "graph", *(("ontology",) if features.ontology else ())]
    names = [] if choice.path == "none" else names
    if settings.retrieval.graph if context.graph is None else context.graph:
        return choice.path, names
    reasons.append("graph retrieval is off")
    return "hybrid" if choice.path == "graph" else choice.path, [name for name in names if name not in GRAPHS]
