"""A graph on a server at one moment: what is known of it, and what is asked further, as long as it has not changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.fetched import Fetched
from theworld.stores.graph.neo4j_client import Neo4jClient, Row, Statement
from theworld.stores.graph.neo4j_names import Names
from theworld.stores.graph.neo4j_writing import FORMAT


class ChangedError(Exception):
    """The graph is not what it was when rows were kept of it."""


@dataclass
class Moment:
    """One call of a caller, who gets the rows that are known and asks for more; the first asking asks the state too."""

    client: Neo4jClient
    names: Names
    tenant: str
    known: Fetched
    bounds: Mapping[str, int]
    """How much of the graph a query may take in: parameters of all that follow edges."""
    asked: bool = False
    """Whether the state has been asked."""

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """Return the rows of statements asked side by side; raises ChangedError when the graph has changed."""
        if self.asked:
            return self.client.read(*statements) if statements else []
        with self.names.read():
            state, *answers = self.client.read(state_of(self.names.ledger), *statements)
            applied = read_state(state)[0]
        if self.known.applied is None:
            self.known.applied = applied
        if self.known.applied != applied:
            raise ChangedError
        self.asked = True
        return answers


def state_of(ledger: str) -> Statement:
    """Return what asks how far the graph came."""
    return cypher.STATE, {"ledger": ledger}


def read_state(rows: list[Row]) -> tuple[int, bool]:
    """Return how far the graph came, and whether leftovers have to be cleared before it can go on."""
    if not rows:
        return 0, False
    ((applied, form, clearing),) = rows
    outdated = clearing or form != FORMAT
    return (0 if outdated else int(applied)), outdated
