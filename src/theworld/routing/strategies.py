"""One query to one decision: strategies, named and versioned, choose a path by words, structure and what the database
knows; from the path follows which channels run, how deep, and whether notes are reranked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from theworld.deadline import Deadline, run_within
from theworld.routing.features import DatabaseView, Features, features_of
from theworld.settings import Settings
from theworld.state import Channel, ChannelPlan, Context, Intent, RouteDecision, RoutePath

SECONDS_REMEMBERED = 60.0
TENANTS_REMEMBERED = 1000
LONGEST_MS = 200.0
"""What a question may wait for the source; what comes later counts for the next ones."""


class RouteHistory(Protocol):
    """How often each path led to an answer that was accepted, from logged feedback."""

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""


class RememberedHistory:
    """Asks a source at most once a minute and tenant; one that fails leaves what was known. Thread-safe."""

    def __init__(self, source: RouteHistory, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._clock = source, clock
        self._known: dict[str, tuple[float, Mapping[str, tuple[int, int]]]] = {}
        self._lock = threading.Lock()

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""
        now = self._clock()
        with self._lock:
            asked, known = self._known.get(tenant, (float("-inf"), {}))
            if now - asked < SECONDS_REMEMBERED:
                return known
            if len(self._known) >= TENANTS_REMEMBERED:
                self._known.clear()
            self._known[tenant] = (now, known)

        def ask() -> Mapping[str, tuple[int, int]]:
            found = self._source.route_outcomes(tenant)
            with self._lock:
                self._known[tenant] = (now, found)
            return found

        try:
            return run_within(Deadline.after(LONGEST_MS), ask, name="read route outcomes")
        except Exception:  # a ledger that cannot be read, or hangs, must not end a request
            return known


LITERAL_SHARE = 0.8
"""Share of a query that must be quoted or an identifier, words of asking for it set aside."""
MOSTLY_KNOWN = 0.2
"""Largest share of characters unknown to the database at which a question for figures is still one for it."""
SPREADING = frozenset(["传导", "波及", "牵连", "蔓延", "连锁", "拖累", "affect", "influence", "spread to", "lead to"])
"""Words of one thing acting on another."""
SHORT_MS, SHORTEST_MS = 150.0, 60.0
"""Budgets below which half as many candidates are asked for, and below which nothing is reranked."""
LEAST_CONFIDENCE = 0.45
"""Below, a choice is widened to hybrid: trying every way costs some milliseconds, a wrong way the answer."""
WEIGHTS: dict[Channel, float] = {"sparse": 0.45, "dense": 0.55, "graph": 1.0, "ontology": 1.0}
"""Of each channel in fusion; the graph's counts times the share that its list earns on each question, that of words and
meaning times the rest (`ranking/fusion.py`, which was fitted over them)."""
GRAPHS = {"graph", "ontology"}
"""Channels of the switch for graph retrieval."""
OFF = "off"
"""Strategy name of a request that was not routed."""
ATTEMPTS_THAT_COUNT = 20
"""Logged requests of a path before its history says anything."""
_PRIOR = (2.0, 1.0)
"""Successes and failures that every path is credited with beforehand."""


class Choice(NamedTuple):
    """What a strategy says of one query."""

    path: RoutePath
    intent: Intent
    confidence: float
    """Probability that the path is right, in [0, 1]."""
    reasons: tuple[str, ...]
    """What decided, feature by feature."""


class Strategy(Protocol):
    """A way to choose a path. Deterministic, no model call, no state."""

    @property
    def name(self) -> str:
        """Name and version, as it is logged: `rules-v1`."""

    def choose(self, query: str, features: Features) -> Choice:
        """Return the choice for one query."""


class Rules:
    """The default strategy: readable, and right for most questions."""

    name = "rules-v1"

    def choose(self, query: str, features: Features) -> Choice:  # noqa: ARG002, PLR0911 - one return a path
        """Return path, intent and reasons; `hybrid` when nothing else speaks, `none` for small talk alone."""
        view = features.database
        if features.smalltalk and not view.fields:
            return Choice("none", "smalltalk", 0.95, ("small talk needs no retrieval",))
        if features.literal >= LITERAL_SHARE and not (view.understood and not features.quoted):
            return Choice("sparse", "detail", 0.85, ("quoted words or an identifier, and little else",))
        if view.understood:
            return Choice("sql", _figures(features), 0.95, ("the database understands every word of it",))
        other = features.has("open") or features.has("relation")
        known = view.fields or (view.entities and view.periods)
        if known and _asks_figures(features) and view.unknown <= MOSTLY_KNOWN and not other:
            reason = f"it asks for figures or fields of the database, {view.unknown:.0%} of it unknown there"
            return Choice("sql", _figures(features), 0.6, (reason,))
        if features.has("relation") and not (features.has("open") and not _is_relating(features)):
            return Choice("graph", "relation", 0.7, (f"relation words: {', '.join(features.signals['relation'][:3])}",))
        if features.has("open") and not features.named and features.literal == 0:
            return Choice("dense", "question", 0.65, (f"open question: {features.signals['open'][0]!r}, no name",))
        if features.has("statistics"):
            reason = f"it asks for a figure ({features.signals['statistics'][0]!r}) that no database holds"
            return Choice("hybrid", "statistics", 0.7, (reason,))
        return Choice("hybrid", "question", 0.6, ("no signal speaks for one path",))


def _asks_figures(features: Features) -> bool:
    view = features.database
    return bool(view.measures or view.periods or view.values or view.entities) or features.has("statistics")


def _figures(features: Features) -> Intent:
    view = features.database
    return "statistics" if view.measures or view.periods or features.has("statistics") else "detail"


def _is_relating(features: Features) -> bool:
    """Return whether an open question is about how things are connected: how does X spread to Y."""
    found = features.signals["relation"]
    return len(found) > 1 or features.named or not SPREADING.isdisjoint(found)


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
        return _allocate(choice, features, context, settings, strategy=OFF)
    choice = with_history(strategy.choose(query, features), outcomes or {})
    return _allocate(choice, features, context, settings, strategy=strategy.name)


def with_history(choice: Choice, outcomes: Mapping[str, tuple[int, int]]) -> Choice:
    """Return the choice with its confidence lowered by as much as its path has done worse than `hybrid`."""
    tried, wide = outcomes.get(choice.path, (0, 0)), outcomes.get("hybrid", (0, 0))
    if choice.path in {"hybrid", "none"} or min(tried[1], wide[1]) < ATTEMPTS_THAT_COUNT:
        return choice
    own, other = ((successes + _PRIOR[0]) / (attempts + sum(_PRIOR)) for successes, attempts in (tried, wide))
    said = f"history: {choice.path} succeeded {tried[0]} of {tried[1]} times, hybrid {wide[0]} of {wide[1]}"
    confidence = max(0.0, min(1.0, choice.confidence - max(0.0, other - own)))
    return choice._replace(confidence=confidence, reasons=(*choice.reasons, said))


def _allocate(
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
    rerank, most = _within_budget(features.deadline_ms, context, settings, reasons)
    tokens = features.tokens_left
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


def _within_budget(budget: float, context: Context, settings: Settings, reasons: list[str]) -> tuple[bool, int]:
    """Return whether to rerank, and how many candidates to ask of a channel, in so many milliseconds."""
    rerank, most = settings.rerank.kind != "none", settings.retrieval.per_channel
    if context.rerank is not None:
        rerank = rerank and context.rerank
        reasons.append(f"the caller chose {'reranking' if context.rerank else 'no reranking'}")
    elif rerank and budget < SHORTEST_MS:
        rerank = False
        reasons.append(f"budget of {budget:.0f} ms: no reranking")
    if budget < SHORT_MS and context.channels is None:
        most = max(1, most // 2)
        reasons.append(f"budget of {budget:.0f} ms: half as many candidates")
    return rerank, most


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
