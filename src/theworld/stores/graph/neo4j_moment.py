"""A graph on a server at one moment: what is known of it, and what is asked further, as long as it has not changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from theworld.errors import EngineUnavailableError
from theworld.stores.engine_access import identifier, is_text, misunderstood
from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.bounded_walk import BoundedWalk
from theworld.stores.graph.neighbourhood import EntityRow, NoteRow
from theworld.stores.graph.neo4j_client import NOT_UNDERSTOOD, Neo4jClient, Row, Statement
from theworld.stores.graph.neo4j_writing import FORMAT

Check = Callable[[str, str], str]
"""Takes what the server calls a node and its name; returns the name."""


@dataclass(frozen=True, slots=True)
class Names:
    """The uids of one ledger's nodes: hashes of ledger, tenant, kind (`note` or `entity`) and name."""

    ledger: str
    where: str
    """The server, for people."""

    def uid(self, tenant: str, kind: str, name: str) -> str:
        """Return the uid of a node."""
        return identifier(self.ledger, tenant, kind, name)

    def uids(self, tenant: str, kind: str, names: Iterable[str]) -> dict[str, str]:
        """Return the names by uid; those that no stored node can have are left out."""
        return {self.uid(tenant, kind, name): name for name in names if is_text(name)}

    @contextmanager
    def read(self) -> Iterator[None]:
        """Turn what goes wrong with rows that are not what they should be into EngineUnavailableError."""
        try:
            yield
        except NOT_UNDERSTOOD as error:
            raise misunderstood("Neo4j", error, self.where) from error

    def asked_for(self, asked: Mapping[str, str], found: str, name: str) -> str:
        """Return the name; one that is not what was asked for is an answer to another question."""
        if asked.get(found) != name:
            raise EngineUnavailableError("Neo4j answered with a node that was not asked for.", where=self.where)
        return name

    def checker(self, tenant: str, kind: str) -> Check:
        """Return what makes sure that a neighbour is the tenant's, and what it says it is."""
        checked: dict[str, str] = {}

        def check(found: str, name: str) -> str:
            if checked.get(found) != name:
                if found != self.uid(tenant, kind, name):
                    what = "Neo4j answered with a node that is not the tenant's."
                    raise EngineUnavailableError(what, where=self.where)
                checked[found] = name
            return name

        return check


@dataclass
class Fetched:
    """What is known of one tenant's graph at one moment; it only grows."""

    walk: BoundedWalk
    applied: int | None = None
    """How far the graph had come; None before it was asked."""
    notes: dict[str, NoteRow | None] = field(default_factory=dict)
    """By id; None for a note that the server does not know."""
    entities: dict[str, EntityRow | None] = field(default_factory=dict)
    """By key; None for an entity that the server does not know."""

    @property
    def size(self) -> int:
        """Number of rows held."""
        return len(self.notes) + len(self.entities) + self.walk.size


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
