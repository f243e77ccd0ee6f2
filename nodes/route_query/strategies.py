"""Strategies: named and versioned ways to choose a path. What a path means for the channels is `allocation`'s part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from theworld.nodes.route_query.features import Features
from theworld.state import Intent, RoutePath


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


class RouteHistory(Protocol):
    """How often each path led to an answer that was accepted, from logged feedback."""

    def route_outcomes(self, tenant: str) -> Mapping[str, tuple[int, int]]:
        """Return path -> (successes, attempts)."""


ATTEMPTS_THAT_COUNT = 20
"""Logged requests of a path before its history says anything."""
_PRIOR = (2.0, 1.0)
"""Successes and failures that every path is credited with beforehand."""


def with_history(choice: Choice, outcomes: Mapping[str, tuple[int, int]]) -> Choice:
    """Return the choice with its confidence lowered by as much as its path has done worse than `hybrid`."""
    tried, wide = outcomes.get(choice.path, (0, 0)), outcomes.get("hybrid", (0, 0))
    if choice.path in {"hybrid", "none"} or min(tried[1], wide[1]) < ATTEMPTS_THAT_COUNT:
        return choice
    own, other = (_rate(*counts) for counts in (tried, wide))
    said = f"history: {choice.path} succeeded {tried[0]} of {tried[1]} times, hybrid {wide[0]} of {wide[1]}"
    confidence = max(0.0, min(1.0, choice.confidence - max(0.0, other - own)))
    return choice._replace(confidence=confidence, reasons=(*choice.reasons, said))


def _rate(successes: int, attempts: int) -> float:
    return (successes + _PRIOR[0]) / (attempts + sum(_PRIOR))
