"""Which strategies there are, by name."""

from __future__ import annotations

from theworld.nodes.route_query.learned import LearnedStrategy
from theworld.nodes.route_query.rules import Rules
from theworld.nodes.route_query.strategies import Strategy
from theworld.settings import RouterSettings


def make_strategy(settings: RouterSettings) -> Strategy:
    """Return the strategy the settings name; SettingsError when its weights cannot be read."""
    return LearnedStrategy.load(settings.weights) if settings.strategy == "learned-v1" else Rules()
