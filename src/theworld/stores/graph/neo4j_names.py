"""What the server's nodes are called, and whether it answers with those that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from theworld.errors import EngineUnavailableError
from theworld.stores.engine_access import is_text, misunderstood
from theworld.stores.graph.neo4j_client import NOT_UNDERSTOOD
from theworld.stores.graph.neo4j_writing import uid

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
        return uid(self.ledger, tenant, kind, name)

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
