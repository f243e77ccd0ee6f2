"""Routing."""

from theworld.nodes.route_query.features import DatabaseReader, DatabaseView, Features, features_of
from theworld.nodes.route_query.history import RememberedHistory
from theworld.nodes.route_query.learned import LearnedStrategy
from theworld.nodes.route_query.node import route_query
from theworld.nodes.route_query.registry import make_strategy
from theworld.nodes.route_query.routing import features_for, route
from theworld.nodes.route_query.rules import Rules
from theworld.nodes.route_query.strategies import Choice, RouteHistory, Strategy

__all__ = [
    "Choice",
    "DatabaseReader",
    "DatabaseView",
    "Features",
    "LearnedStrategy",
    "RememberedHistory",
    "RouteHistory",
    "Rules",
    "Strategy",
    "features_for",
    "features_of",
    "make_strategy",
    "route",
    "route_query",
]
