"""The ledger and its projections: reachable, versions, tables, rights, clocks, and changes not yet applied."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from sqlalchemy import func, select, text

from theworld.doctor.checks import Finding, check_rights
from theworld.settings import Settings
from theworld.stores.ledger import Ledger, opening
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.ledger.sqlite import FILE_NAME
from theworld.stores.opening import follows
from theworld.stores.projections import Engines
from theworld.stores.protocols import Projection

OLDEST_SERVER = 14
"""The first major version of PostgreSQL that notices a client that is gone (client_connection_check_interval)."""
_SKEW_S, _FILE_SKEW_S = 5.0, 300.0
"""What the clocks of servers, and of what wrote a file, may differ by from ours."""


def check_ledger(database: Database, settings: Settings) -> Iterator[Finding]:
    """Look at the database and its tables; afterwards the ledger can be asked."""
    if database.remote:
        yield from _server(database)
        begun = time.time()
        theirs = float(database.glance(select(func.extract("epoch", func.clock_timestamp()))))
        ahead = theirs - (begun + time.time()) / 2
        apart, facts = abs(ahead) > _SKEW_S, {"server_ahead_s": round(ahead, 3)}
        remedy = "Set both clocks by NTP: keys expire and records are deleted by them." if apart else ""
        said = f"the server's differs from ours by {ahead:+.{1 if apart else 3}f} s"
        yield Finding("clock", "warning" if apart else "ok", said, remedy, facts)
        rights = check_rights(database, settings.ledger.namespace)
        if rights is not None:
            yield rights
            if rights.status == "failed":
                return
    else:
        ahead = (settings.store / FILE_NAME).stat().st_mtime - time.time()
        if ahead > _FILE_SKEW_S:
            remedy = "Set the clock (NTP): keys expire and records are deleted by it."
            yield Finding("clock", "warning", f"the ledger was written {ahead:.0f} s in the future", remedy)
        else:
            yield Finding("clock", "ok", "not before the last write")
    with database.reading() as connection:
        there = opening.has_tables(connection)
    if not there:
        remedy = "Make them: `theworld ledger migrate --create`, or ingest something."
        yield Finding("schema", "failed", "there are no tables", remedy)
        return
    version, size = opening.read_version(database), database.bytes()
    tables = {"version": version, "known": SCHEMA_VERSION, "bytes": size}
    if version == SCHEMA_VERSION:
        sequence = Ledger(database).sequence()
        message = f"version {version}, sequence {sequence}, {size / 1e6:.1f} MB"
        yield Finding("schema", "ok", message, facts={**tables, "sequence": sequence})
    else:
        older = opening.is_older(version)
        remedy = opening.MIGRATE if older else "Use the version of TheWorld that wrote it."
        yield Finding("schema", "failed", f"version {version}, this program knows {SCHEMA_VERSION}", remedy, tables)


def _server(database: Database) -> Iterator[Finding]:
    begun = time.perf_counter()
    version = str(database.glance(select(func.current_setting("server_version")))).split()[0]
    facts: dict[str, Any] = {"version": version, "round_trip_ms": round((time.perf_counter() - begun) * 1000, 2)}
    facts["standby"] = bool(database.glance(select(func.pg_is_in_recovery())))
    own = select(text("ssl")).select_from(text("pg_stat_ssl")).where(text("pid = pg_backend_pid()"))
    facts["encrypted"] = bool(database.glance(own))
    message = f"{database.where}: PostgreSQL {version}{', encrypted' if facts['encrypted'] else ''}"
    if int(version.split(".")[0]) < OLDEST_SERVER:
        yield Finding("ledger", "warning", message, f"Version {OLDEST_SERVER} or newer is what is tested.", facts)
    elif facts["standby"]:
        remedy = "It can be read, not written: name the primary in ledger.url where documents are ingested."
        yield Finding("ledger", "warning", f"{message}, a standby", remedy, facts)
    else:
        yield Finding("ledger", "ok", message, facts=facts)


SYNC = "Bring it up to date: `theworld sync`."
OLDEST_SERVERS = {"sparse": (2, 11), "dense": (1, 18), "graph": (5, 26)}
"""The oldest OpenSearch, Qdrant and Neo4j that have what the twins ask of them, as docs/engines.md names them."""


def check_projection(name: str, ledger: Ledger, settings: Settings) -> Iterator[Finding]:
    """Look at one projection: sparse, dense or graph."""
    engines = Engines.of(settings)
    server = engines.remote().get(name)
    if server is None and not follows(settings.store, ledger):
        yield Finding(name, "warning", "embedded: made from another ledger, or not yet made", SYNC)
        return
    last = ledger.sequence()
    identity = ledger.identity() if server is not None else ""
    open_it: Callable[..., Projection] = getattr(engines, f"open_{name}")
    with closing(open_it(settings.store, identity, writable=False)) as projection:
        asked = getattr(projection, "version", None)  # of those on servers
        version = str(asked()) if asked is not None else ""
        behind = last - projection.applied
    where = f"{server.url if server is not None else ''}, version {version}" if version else "embedded"
    facts: dict[str, object] = {"sequence": last, **({"version": version} if version else {}), "behind": behind}
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
    """Return whether a server's version is before the oldest (major, minor); one that names no numbers is not."""
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) < oldest


def check_ontology(ledger: Ledger) -> Iterator[Finding]:
    """Look whether the notes are linked to the ontology, where one was imported."""
    applied, last = ledger.graph.applied(), ledger.sequence()
    if applied is None:
        yield Finding("ontology", "off", "none was imported")
    elif applied < last:
        message = f"its links are {last - applied} of {last} changes behind"
        yield Finding("ontology", "warning", message, SYNC, {"behind": last - applied})
    else:
        yield Finding("ontology", "ok", "all notes are linked to it", facts={"behind": 0})
