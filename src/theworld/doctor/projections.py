"""The projections: reachable, their version, and how far behind the ledger they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Protocol, runtime_checkable

from theworld.doctor.finding import Finding
from theworld.settings import Settings
from theworld.stores.engines import Engines
from theworld.stores.ledger import Ledger
from theworld.stores.protocols import Projection
from theworld.stores.store_folder import follows

SYNC = "Bring it up to date: `theworld sync`."
OLDEST_SERVERS = {"sparse": (2, 11), "dense": (1, 18), "graph": (5, 26)}
"""The oldest OpenSearch, Qdrant and Neo4j that have what the twins ask of them, as docs/engines.md names them."""


@runtime_checkable
class OnServer(Protocol):
    """A projection whose server can be asked for its version."""

    def version(self) -> str:
        """Return the server's version."""


def check_projection(name: str, ledger: Ledger, settings: Settings) -> Iterator[Finding]:
    """Look at one projection: sparse, dense or graph."""
    engines = Engines.of(settings)
    server = engines.remote().get(name)
    if server is None and not follows(settings.store, ledger):
        yield Finding(name, "warning", "embedded: made from another ledger, or not yet made", SYNC)
        return
    last = ledger.sequence()
    with closing(_opened(name, engines, ledger, settings)) as projection:
        where = "embedded"
        facts: dict[str, object] = {"sequence": last}
        if isinstance(projection, OnServer):
            facts["version"] = projection.version()
            where = f"{server.url if server is not None else ''}, version {facts['version']}"
        behind = last - projection.applied
    facts["behind"] = behind
    version = str(facts.get("version", ""))
    if behind >= 0 and is_older(version, OLDEST_SERVERS[name]):
        oldest = ".".join(map(str, OLDEST_SERVERS[name]))
        yield Finding(name, "warning", where, f"Bring the server to version {oldest} or newer.", facts)
    elif behind == 0:
        yield Finding(name, "ok", f"{where}: up to date", facts=facts)
    elif behind > 0:
        yield Finding(name, "warning", f"{where}: {behind} of {last} changes behind the ledger", SYNC, facts)
    else:
        remedy = f"The ledger was restored from a backup? `theworld sync --rebuild {name}`."
        yield Finding(name, "failed", f"{where}: {-behind} changes ahead of the ledger", remedy, facts)


def is_older(version: str, oldest: tuple[int, int]) -> bool:
    """Tell whether a server's version is before the oldest (major, minor); one that names no numbers is not."""
    told = re.match(r"v?(\d+)\.(\d+)", version)
    return told is not None and (int(told[1]), int(told[2])) < oldest


def check_ontology(ledger: Ledger) -> Iterator[Finding]:
    """Look whether the notes are linked to the ontology, where one was imported."""
    applied, last = ledger.graph.applied(), ledger.sequence()
    if applied is None:
        yield Finding("ontology", "off", "none was imported")
    elif applied < last:
        said = f"its links are {last - applied} of {last} changes behind"
        yield Finding("ontology", "warning", said, SYNC, {"behind": last - applied})
    else:
        yield Finding("ontology", "ok", "all notes are linked to it", facts={"behind": 0})


def _opened(name: str, engines: Engines, ledger: Ledger, settings: Settings) -> Projection:
    identity = ledger.identity() if name in engines.remote() else ""
    open_it: dict[str, Callable[[], Projection]] = {
        "sparse": lambda: engines.open_sparse(settings.store, identity, writable=False),
        "dense": lambda: engines.open_dense(settings.store, identity, writable=False),
        "graph": lambda: engines.open_graph(settings.store, identity, None, writable=False),
    }
    return open_it[name]()
