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
    choice = _widened(choice)
    way = _Way(choice, features, context, settings)
    way.choose_channels()
    way.choose_database()
    way.choose_reranking()
    way.heed_the_budget()
    if way.path == "sql" and not way.database:
        way.path = "hybrid" if way.channels else "none"
    return RouteDecision(
        path=way.path,
        intent=choice.intent,
        channels=way.channels,
        database=way.database,
        rerank=way.rerank,
        model=features.tokens_left is None or features.tokens_left > 0,
        confidence=1.0 if context.channels is not None else choice.confidence,
        reasons=(f"intent {choice.intent}", *choice.reasons, *way.reasons),
        strategy=strategy,
    )


class _Way:
    """A decision in the making: what the choice says, changed step by step by what is switched off and the caller."""

    def __init__(self, choice: Choice, features: Features, context: Context, settings: Settings) -> None:
        self._features, self._context, self._settings = features, context, settings
        self.path: RoutePath = choice.path
        names: tuple[Channel, ...] = ("sparse", "dense", "graph", *(("ontology",) if features.ontology else ()))
        self.channels = {name: _plan(name, settings) for name in names if choice.path != "none"}
        sure = choice.path == "hybrid" and choice.confidence == 1
        self.database = features.database.available and choice.path in {"sql", "hybrid"} and not sure
        self.rerank = settings.rerank.kind != "none"
        self.reasons: list[str] = []

    def choose_channels(self) -> None:
        """Take the caller's channels, without asking the database; else leave out the graph where it is off."""
        context, settings = self._context, self._settings
        if context.channels is not None:
            chosen = [
                name for name in dict.fromkeys(context.channels) if name not in GRAPHS or context.graph is not False
            ]
            self.channels = {name: _plan(name, settings) for name in chosen}
            self.path = chosen[0] if len(chosen) == 1 else "hybrid" if chosen else "none"
            self.database = False
            self.reasons.append(f"the caller chose {', '.join(chosen) or 'no channel'}")
        elif not (settings.retrieval.graph if context.graph is None else context.graph):
            self.channels = {name: plan for name, plan in self.channels.items() if name not in GRAPHS}
            self.path = "hybrid" if self.path == "graph" else self.path
            self.reasons.append("graph retrieval is off")

    def choose_database(self) -> None:
        """Ask the database, or not, where the caller says so."""
        wanted = self._context.database
        if wanted is not None:
            self.database = wanted and self._features.database.available
            self.reasons.append(f"the caller {'asks' if wanted else 'does not ask'} for the database")
            if self.database and self.path == "none" and self._context.channels is None:
                self.path = "sql"

    def choose_reranking(self) -> None:
        """Rerank as the caller says, else where there is time for it."""
        wanted, budget = self._context.rerank, self._features.deadline_ms
        if wanted is not None:
            self.rerank = self.rerank and wanted
            self.reasons.append(f"the caller chose {'reranking' if wanted else 'no reranking'}")
        elif self.rerank and budget < SHORTEST_MS:
            self.rerank = False
            self.reasons.append(f"budget of {budget:.0f} ms: no reranking")

    def heed_the_budget(self) -> None:
        """Ask for half as many candidates where time is short and the caller chose no channels; say what is spent."""
        budget, tokens = self._features.deadline_ms, self._features.tokens_left
        if budget < SHORT_MS and self._context.channels is None:
            for name, plan in self.channels.items():
                self.channels[name] = plan.model_copy(update={"top_k": max(1, plan.top_k // 2)})
            self.reasons.append(f"budget of {budget:.0f} ms: half as many candidates")
        if tokens is not None and tokens <= 0:
            self.reasons.append("no tokens left: no language model")


def _widened(choice: Choice) -> Choice:
    if choice.confidence >= LEAST_CONFIDENCE or choice.path == "hybrid":
        return choice
    said = f"{choice.path} at confidence {choice.confidence:.2f} is widened to hybrid"
    return choice._replace(path="hybrid", reasons=(*choice.reasons, said))


def _plan(name: Channel, settings: Settings) -> ChannelPlan:
    return ChannelPlan(top_k=settings.retrieval.per_channel, weight=WEIGHTS[name])
