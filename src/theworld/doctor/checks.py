"""A finding, and what is looked at beside the ledger: folder, disk, writer, rights, models, database, Wikidata."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from filelock import FileLock, Timeout
from sqlalchemy import text

from theworld.errors import TheWorldError
from theworld.settings import Settings
from theworld.stores.files import bytes_under, read_json
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.database import Database
from theworld.stores.opening import check_folder

Status = Literal["ok", "off", "warning", "failed"]
"""`off`: not configured, nothing is missing; `warning`: it works, but will not for long or not as meant."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    """What: ledger, sparse, disk, ..."""
    status: Status
    said: str
    """What was found, in one line."""
    remedy: str = ""
    """How to fix it; empty when nothing is wrong."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same as plain values, for programs."""
    elapsed_ms: float = 0.0


def findings_of(subject: str, check: Callable[[], Iterator[Finding]], *, remedy: str) -> Iterator[Finding]:
    """Yield what a check finds; one that raises is a finding too, with its own remedy or this one."""
    begun = time.perf_counter()
    try:
        for found in check():
            yield replace(found, elapsed_ms=(time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
        return
    except TheWorldError as error:
        said, remedy = f"{error.where}: {error.what}" if error.where else error.what, error.remedy or remedy
    except Exception as error:  # whatever is broken, the other checks must run
        said = f"unexpected {type(error).__name__}: {error}"
    yield Finding(subject, "failed", said, remedy, elapsed_ms=(time.perf_counter() - begun) * 1000)


LEAST_FREE_MB, LITTLE_FREE_MB = 100, 1000
"""Free megabytes below which nothing can be written for long, and below which it is worth a word."""


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
    usage = shutil.disk_usage(folder)
    free, facts = usage.free / 1e6, {"free_bytes": usage.free, "total_bytes": usage.total}
    status: Status = "ok" if free >= LITTLE_FREE_MB else "warning" if free >= LEAST_FREE_MB else "failed"
    remedy = "" if status == "ok" else "Free some space, or move the store's folder to another disk."
    unit, scale = ("GB", 1e9) if usage.free >= 1e9 else ("MB", 1e6)
    yield Finding("disk", status, f"{usage.free / scale:.1f} of {usage.total / scale:.1f} {unit} free", remedy, facts)


def check_writer(settings: Settings) -> Iterator[Finding]:
    """Look whether a process has the folder's writer lock; it is not kept."""
    folder, pid, held = settings.store, None, False
    if (folder / "writer.lock").exists() and os.access(folder, os.W_OK):
        owner = read_json(folder / "writer.json")
        pid = owner["pid"] if owner is not None else None
        try:
            with FileLock(folder / "writer.lock", timeout=0):
                pass
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
    facts: dict[str, Any] = {"role": role, "writes": usable and not locked and not without}
    status: Status = "failed"
    if not usable:
        message, grant = f"may not use the schema {schema}", f"USAGE ON SCHEMA {schema}"
    elif closed:
        message, grant = f"may not read {_named(closed)}", f"SELECT ON ALL TABLES {everything}"
    elif locked and not reads_only:
        status, message = "warning", f"may write some tables, not {_named(locked)}"
        grant = f"INSERT, UPDATE, DELETE ON ALL TABLES {everything}"
    elif without and not reads_only:
        status, message = "warning", f"may write, but not draw numbers from {_named(without)}"
        grant = f"USAGE ON ALL SEQUENCES {everything}"
    else:
        said = f"role {role} may read{', not write' if reads_only else ' and write'}"
        return Finding("rights", "ok", said, facts=facts)
    return Finding("rights", status, f"role {role} {message}", _GRANT.format(grant, role), facts)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def check_embedders(ledger: Ledger, settings: Settings) -> Iterator[Finding]:
    """Look whether the vectors in the store were made by the models that questions are read with; none is loaded."""
    from theworld.models.registry import load_models

    models = load_models(settings)
    names = {language: models.embedders[language].name for language in models.embedders}
    for language, space in names.items():
        other = ledger.other_spaces(language, space)
        if other:
            found = ", ".join(f"{count} notes in {name!r}" for name, count in other.items())
            remedy = "Configure that model, or run `theworld ingest PATH --reembed`."
            yield Finding("embedder", "failed", f"{language}: {found}, none of them in {space!r}", remedy)
            return
    message = ", ".join(f"{language} {space}" for language, space in names.items())
    yield Finding("embedder", "ok", message, facts={"spaces": names})


def check_database(settings: Settings) -> Iterator[Finding]:
    """Look whether the database can be asked and still has the tables that the ontology names."""
    if settings.database.url is None:
        yield Finding("database", "off", "no SQL path is configured")
        return
    from theworld.sql.database import Database

    with closing(Database.open(settings.database)) as database:
        tables = sorted(database.mapping.tables)
        yield Finding("database", "ok", f"{len(tables)} mapped tables are there", facts={"tables": tables})


def check_model(settings: Settings) -> Iterator[Finding]:
    """Look whether the language model's endpoint answers, takes the key and has the model; nothing is generated."""
    chosen = settings.model
    if chosen.name is None:
        yield Finding("model", "off", "none: answers are entities and quotes")
        return
    import httpx

    from theworld.models.endpoint import DEFAULT_URL

    base = (chosen.base_url or DEFAULT_URL).rstrip("/")
    headers = {"Authorization": f"Bearer {chosen.api_key.get_secret_value()}"} if chosen.api_key else {}
    try:
        reply = httpx.get(f"{base}/models", headers=headers, timeout=min(10.0, chosen.timeout_s))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        remedy = "Check model.base_url, and whether the server runs."
        yield Finding("model", "failed", f"{base} does not answer: {type(error).__name__}: {error}", remedy)
        return
    if reply.status_code in {401, 403}:
        yield Finding("model", "failed", f"{base} refuses the key", "Check model.api_key (or OPENAI_API_KEY).")
        return
    if not reply.is_success:
        said = f"{base} answers HTTP {reply.status_code} when asked for its models, {chosen.name!r} among them or not"
        remedy = "Check that model.base_url ends as the server wants it, often in /v1."
        yield Finding("model", "warning", said, remedy)
        return
    try:
        known = [str(one["id"]) for one in reply.json()["data"]]
    except (ValueError, KeyError, TypeError):
        yield Finding("model", "warning", f"{base} does not list its models", "Check model.base_url.")
        return
    if chosen.name in known:
        yield Finding("model", "ok", f"{base} has {chosen.name!r}", facts={"models": len(known)})
    else:
        remedy = f"It has: {', '.join(sorted(known)[:5])}. Set model.name."
        yield Finding("model", "failed", f"{base} has no model {chosen.name!r}", remedy)


def check_wikidata(settings: Settings) -> Iterator[Finding]:
    """Look whether entities can be looked up: one small search, without the cache."""
    from theworld.entities import open_knowledge

    chosen = settings.wikidata
    with open_knowledge(chosen, cached=False) as knowledge:
        found = knowledge.search("Earth", "en", 1)
    where = chosen.api if chosen.online else f"snapshot {chosen.snapshot or 'bundled'}"
    yield Finding("wikidata", "ok", f"{where} answers", facts={"online": chosen.online, "found": len(found)})
