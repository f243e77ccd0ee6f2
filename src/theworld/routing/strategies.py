"""Strategies: named and versioned ways to choose a path by words, structure and what the database knows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from theworld.routing.features import Features
from theworld.state import Intent, RoutePath

LITERAL_SHARE = 0.8
"""Share of a query that must be quoted or an identifier, words of asking for it set aside."""
MOSTLY_KNOWN = 0.2
"""Largest share of characters unknown to the database at which a question for figures is still one for it."""
SPREADING = frozenset(["传导", "波及", "牵连", "蔓延", "连锁", "拖累", "affect", "influence", "spread to", "lead to"])
"""Words of one thing acting on another."""


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
