"""What psycopg needs to reach the ledger: address, credentials, certificates and limits."""

from __future__ import annotations

import ipaddress
import math
import ssl
from typing import Any
from urllib.parse import unquote, urlsplit

from theworld.errors import SettingsError
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
