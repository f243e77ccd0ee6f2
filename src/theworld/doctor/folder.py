"""Places and rights: the store's folder, room on its disk, who writes to it, and what the ledger's role may do."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import text

from theworld.doctor.finding import Finding, Status
from theworld.settings import Settings
from theworld.stores.files import bytes_under, read_json
from theworld.stores.ledger.database import Database
from theworld.stores.store_folder import check_folder

LEAST_FREE_MB, LITTLE_FREE_MB = 100, 1000
"""Free megabytes below which nothing can be written for long, and below which it is worth a word."""
_SKEW_S = 300


def check_store_folder(settings: Settings) -> Iterator[Finding]:
    """Look at the folder itself and at the disk it lies on."""
    folder = settings.store
    if not folder.exists() and settings.ledger.url is not None:
        yield Finding("folder", "ok", f"{folder} is made when the store is first opened")
        folder = next(parent for parent in folder.absolute().parents if parent.exists())
    else:
        check_folder(folder, create=False, has_ledger=settings.ledger.url is None)
        size = bytes_under(folder)
        facts = {"path": str(folder), "bytes": size, "writable": os.access(folder, os.W_OK)}
        message = f"{folder}, {size / 1e6:.1f} MB"
        if facts["writable"]:
            yield Finding("folder", "ok", message, facts=facts)
        else:
            remedy = "Nothing can be written here; make the folder writable if this machine is to ingest."
            yield Finding("folder", "warning", f"{message}, only readable", remedy, facts)
    yield _disk(folder)


def _disk(folder: Path) -> Finding:
    usage = shutil.disk_usage(folder)
    free = usage.free / 1e6
    facts = {"free_bytes": usage.free, "total_bytes": usage.total}
    message = f"{free / 1000:.1f} of {usage.total / 1e9:.1f} GB free"
    if free >= LITTLE_FREE_MB:
        return Finding("disk", "ok", message, facts=facts)
    remedy = "Free some space, or move the store's folder to another disk."
    return Finding("disk", "failed" if free < LEAST_FREE_MB else "warning", message, remedy, facts)


def check_writer(settings: Settings) -> Iterator[Finding]:
    """Look whether a process has the folder's writer lock; it is not kept."""
    folder = settings.store
    owner = read_json(folder / "writer.json")
    pid = owner.get("pid") if isinstance(owner, dict) else None
    if not (folder / "writer.lock").exists() or not os.access(folder, os.W_OK):
        yield Finding("writer", "ok", "none", facts={"pid": None})
        return
    lock = FileLock(folder / "writer.lock", timeout=0)
    try:
        with lock:
            held = False
    except Timeout:
        held = True
    facts = {"pid": pid, "held": held}
    if held:
        who = "another process" if pid is None else f"process {pid}"
        yield Finding("writer", "ok", f"{who} is writing to this folder", facts=facts)
    elif pid is not None:
        remedy = "Nothing is lost: the next `theworld sync` or ingestion finishes what it left undone."
        yield Finding("writer", "warning", f"process {pid} ended while it was writing", remedy, facts)
    else:
        yield Finding("writer", "ok", "none", facts=facts)


def check_file_clock(file: Path) -> Iterator[Finding]:
    """Look whether this machine's clock stands before what was last written."""
    ahead = file.stat().st_mtime - time.time()
    if ahead > _SKEW_S:
        remedy = "Set the clock (NTP): keys expire and records are deleted by it."
        yield Finding("clock", "warning", f"the ledger was written {ahead:.0f} s in the future", remedy)
    else:
        yield Finding("clock", "ok", "not before the last write")


_ROLE = text("SELECT current_user, has_schema_privilege(to_regnamespace(:schema), 'USAGE')")
_TABLES = text(
    "SELECT relname, has_table_privilege(oid, 'SELECT'), has_table_privilege(oid, 'INSERT') AND "
    "has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE') "
    "FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(:schema) ORDER BY relname"
)
_SEQUENCES = text(
    "SELECT relname, has_sequence_privilege(oid, 'USAGE') "
    "FROM pg_class WHERE relkind = 'S' AND relnamespace = to_regnamespace(:schema) ORDER BY relname"
)
_GRANT = "As the owner: GRANT {} TO {}; docs/postgresql.md lists all rights."


def check_rights(database: Database, schema: str) -> Finding | None:
    """Look whether this role may use the schema and read its tables, and whether it may write; None without tables."""
    with database.reading() as connection:
        role, usable = connection.execute(_ROLE, {"schema": schema}).one()
        tables = connection.execute(_TABLES, {"schema": schema}).all()
        sequences = connection.execute(_SEQUENCES, {"schema": schema}).all()
    if usable is None or not tables:
        return None
    closed = [name for name, readable, _ in tables if not readable]
    locked = [name for name, _, writable in tables if not writable]
    without = [name for name, drawable in sequences if not drawable]
    reads_only, everything = len(locked) == len(tables), f"IN SCHEMA {schema}"
    lacking: tuple[tuple[bool, Status, str, str], ...] = (
        (not usable, "failed", f"may not use the schema {schema}", f"USAGE ON SCHEMA {schema}"),
        (bool(closed), "failed", f"may not read {_named(closed)}", f"SELECT ON ALL TABLES {everything}"),
        (
            bool(locked) and not reads_only,
            "warning",
            f"may write some tables, not {_named(locked)}",
            f"INSERT, UPDATE, DELETE ON ALL TABLES {everything}",
        ),
        (
            bool(without) and not reads_only,
            "warning",
            f"may write, but not draw numbers from {_named(without)}",
            f"USAGE ON ALL SEQUENCES {everything}",
        ),
    )
    facts: dict[str, Any] = {"role": role, "writes": usable and not locked and not without}
    for lacks, status, message, grant in lacking:
        if lacks:
            return Finding("rights", status, f"role {role} {message}", _GRANT.format(grant, role), facts)
    return Finding("rights", "ok", f"role {role} may read{', not write' if reads_only else ' and write'}", facts=facts)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
