"""Which way a question goes: its features, strategies that choose a path, and what a path means for the channels."""

from theworld.routing.allocation import OFF, allocate, route
from theworld.routing.features import DatabaseReader, DatabaseView, Features, features_of, is_smalltalk
from theworld.routing.history import RememberedHistory, RouteHistory, with_history
from theworld.routing.strategies import Choice, Rules, Strategy

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
    "allocate",
    "features_of",
    "is_smalltalk",
    "route",
    "with_history",
]
