"""What psycopg needs to reach the ledger, and PostgreSQL's errors in our own words, by their SQLSTATE codes."""

from __future__ import annotations

import ipaddress
import math
import ssl
from typing import Any
from urllib.parse import unquote, urlsplit

from sqlalchemy.exc import DBAPIError

from theworld.errors import EngineUnavailableError, SettingsError, StoreError
from theworld.settings import LedgerSettings

OLDEST = 14
"""The first major version that notices a client that is gone (client_connection_check_interval)."""


def address(settings: LedgerSettings) -> str:
    """Return host, port, database and schema, for people."""
    host, port, database = _parts(settings)
    return f"postgresql://{host}:{port}/{database} (schema {settings.namespace})"


def connection_parameters(settings: LedgerSettings) -> dict[str, Any]:
    """Return psycopg's parameters. SettingsError when the password or the certificate cannot be read."""
    host, port, database = _parts(settings)
    who = settings.credentials()
    user, password = who if who is not None else (None, None)
    milliseconds = math.ceil(settings.write_timeout_s * 1000)
    limits = {
        "search_path": settings.namespace,
        "statement_timeout": milliseconds,
        "lock_timeout": milliseconds,
        # A writer that hangs must not keep its locks for ever.
        "idle_in_transaction_session_timeout": milliseconds,
        "client_connection_check_interval": 1000,
        "timezone": "UTC",
    }
    found = {
        "host": host,
        "port": port,
        "dbname": database,
        "user": user,
        "password": password or None,
        "application_name": "theworld",
        "connect_timeout": max(2, math.ceil(settings.timeout_s)),
        "keepalives_idle": 30,
        "gssencmode": "disable",
        "options": " ".join(f"-c {name}={value}" for name, value in limits.items()),
        **_encryption(settings, host),
    }
    return {name: value for name, value in found.items() if value is not None}


def _parts(settings: LedgerSettings) -> tuple[str, int, str]:
    parts = urlsplit(settings.url or "")
    try:
        port = parts.port or 5432
    except ValueError as error:
        raise SettingsError(f"the port is no number: {error}.", where="ledger.url") from error
    return parts.hostname or "localhost", port, unquote(parts.path.lstrip("/"))


def _encryption(settings: LedgerSettings, host: str) -> dict[str, str]:
    """Return how the connection is encrypted: with a checked certificate, unless it stays on this machine."""
    wanted = settings.tls if settings.tls is not None else not _is_here(host)
    if not wanted:
        return {"sslmode": "disable"}
    if not settings.verify:
        return {"sslmode": "require"}
    file = settings.ca_file.expanduser() if settings.ca_file is not None else None
    if file is not None and not file.is_file():
        raise SettingsError(
            f"there is no file {file}.",
            where="servers.ca_file",
            remedy="It is a PEM file with the certificate of the authority that signed the server's.",
        )
    return {"sslmode": "verify-full", "sslrootcert": str(file) if file is not None else _authorities()}


def _authorities() -> str:
    """Return the file of the authorities that this machine trusts: psycopg brings its own OpenSSL, which knows none."""
    import certifi

    return ssl.get_default_verify_paths().cafile or certifi.where()


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_UNAVAILABLE = ("08", "57", "53", "58", "XX", "28", "3D", "25P03", "55P03", "40")
"""Connection lost, server stopping, out of something or broken, not let in, no such database, limits, deadlock."""
_TABLES = (
    "Make the tables: `theworld ledger migrate --create`. Where they are, this role lacks USAGE on their schema "
    "(docs/postgresql.md)."
)
_NOT_LET_IN = (
    "The server runs, and does not let this role in: check ledger.username and ledger.password (or password_file), "
    "that the role may log in and has CONNECT on the database (docs/postgresql.md), and the server's pg_hba.conf."
)
_REMEDIES = {
    "28": _NOT_LET_IN,
    "3D": "Make the database, or check ledger.url.",
    "3F": _TABLES,
    "42P01": _TABLES,
    "42501": "Give the role the rights that docs/postgresql.md lists.",
    "25006": "This server only reads, as a standby does: name the primary in ledger.url.",
    "53100": "Free some space on the server; nothing of the last batch was kept.",
    "54000": "A name (tenant, id, title or alias) is longer than PostgreSQL can index, about 2,700 bytes: shorten it.",
}


def explained(error: DBAPIError, where: str, *, late: str = "") -> StoreError:
    """Return what to raise for an error of the driver; `late` says that we cut the connection ourselves."""
    code = getattr(error.orig, "sqlstate", None)
    lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
    said = late or " ".join(lines[:2]) or type(error.orig).__name__
    if late or code is None or code.startswith(_UNAVAILABLE):
        # What refuses a connection comes without a code.
        refused = code is None and not late and "FATAL:" in said
        remedy = _remedy(code) or (_NOT_LET_IN if refused else "See whether the server runs, with `theworld doctor`.")
        return EngineUnavailableError(f"the ledger cannot be asked: {said}", where=where, remedy=remedy)
    return StoreError(f"the ledger failed: {said}", where=where, remedy=_remedy(code))


def _remedy(code: str | None) -> str:
    return next((remedy for sign, remedy in _REMEDIES.items() if code is not None and code.startswith(sign)), "")
