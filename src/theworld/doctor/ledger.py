"""The ledger: reachable, its version, its tables, what this role may do, and whether its clock agrees with ours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import func, select, text

from theworld.doctor.finding import Finding
from theworld.doctor.folder import check_file_clock
from theworld.doctor.rights import check_rights
from theworld.settings import Settings
from theworld.stores.ledger import Ledger, schema
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import SCHEMA_VERSION
from theworld.stores.ledger.sqlite import FILE_NAME

OLDEST_SERVER = 14
_SKEW_S = 5.0


def check_ledger(database: Database, settings: Settings) -> Iterator[Finding]:
    """Look at the database and its tables; afterwards the ledger can be asked."""
    if database.remote:
        yield from _server(database)
        yield from _clock(database)
        rights = check_rights(database, settings.ledger.namespace)
        if rights is not None:
            yield rights
            if rights.status == "failed":
                return
    else:
        yield from check_file_clock(settings.store / FILE_NAME)
    yield from _tables(database)


def _server(database: Database) -> Iterator[Finding]:
    begun = time.perf_counter()
    version = str(database.glance(select(func.current_setting("server_version")))).split()[0]
    facts: dict[str, Any] = {"version": version, "round_trip_ms": round((time.perf_counter() - begun) * 1000, 2)}
    facts["standby"] = bool(database.glance(select(func.pg_is_in_recovery())))
    facts["encrypted"] = bool(database.glance(select(text("ssl")).select_from(text("pg_stat_ssl")).where(_OWN)))
    said = f"{database.where}: PostgreSQL {version}{', encrypted' if facts['encrypted'] else ''}"
    if int(version.split(".")[0]) < OLDEST_SERVER:
        yield Finding("ledger", "warning", said, f"Version {OLDEST_SERVER} or newer is what is tested.", facts)
    elif facts["standby"]:
        remedy = "It can be read, not written: name the primary in ledger.url where documents are ingested."
        yield Finding("ledger", "warning", f"{said}, a standby", remedy, facts)
    else:
        yield Finding("ledger", "ok", said, facts=facts)


_OWN = text("pid = pg_backend_pid()")


def _clock(database: Database) -> Iterator[Finding]:
    begun = time.time()
    theirs = float(database.glance(select(func.extract("epoch", func.clock_timestamp()))))
    ahead = theirs - (begun + time.time()) / 2
    facts = {"server_ahead_s": round(ahead, 3)}
    if abs(ahead) > _SKEW_S:
        remedy = "Set both clocks by NTP: keys expire and records are deleted by them."
        yield Finding("clock", "warning", f"the server's differs from ours by {ahead:+.1f} s", remedy, facts)
    else:
        yield Finding("clock", "ok", f"the server's differs from ours by {ahead:+.3f} s", facts=facts)


def _tables(database: Database) -> Iterator[Finding]:
    with database.reading() as connection:
        there = schema.has_tables(connection)
    if not there:
        remedy = "Make them: `theworld ledger migrate --create`, or ingest something."
        yield Finding("schema", "failed", "there are no tables", remedy)
        return
    version, size = schema.read_version(database), database.bytes()
    facts = {"version": version, "known": SCHEMA_VERSION, "bytes": size}
    if version == SCHEMA_VERSION:
        sequence = Ledger(database).sequence()
        said = f"version {version}, sequence {sequence}, {size / 1e6:.1f} MB"
        yield Finding("schema", "ok", said, facts={**facts, "sequence": sequence})
    else:
        older = schema.is_older(database)
        remedy = schema.MIGRATE if older else "Use the version of TheWorld that wrote it."
        yield Finding("schema", "failed", f"version {version}, this program knows {SCHEMA_VERSION}", remedy, facts)
