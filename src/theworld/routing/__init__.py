"""Which way a question goes: its features, strategies that choose a path, and what a path means for the channels."""

from theworld.routing.features import DatabaseReader, DatabaseView, Features, features_of
from theworld.routing.strategies import (
    OFF,
    Choice,
    RememberedHistory,
    RouteHistory,
    Rules,
    Strategy,
    route,
    with_history,
)

__all__ = [
    "OFF",
    "Choice",
    "DatabaseReader",
    "DatabaseView",
    "Features",
    "RememberedHistory",
    "RouteHistory",
    "Rules",
    "Strategy",
    "features_of",
    "route",
    "with_history",
]
