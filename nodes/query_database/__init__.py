"""Asking the mapped database."""

from theworld.nodes.query_database.node import query_database
from theworld.nodes.query_database.view import database_reader

__all__ = ["database_reader", "query_database"]
