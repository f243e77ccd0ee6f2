"""Ledgers on the session's PostgreSQL, each in a schema of its own."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import psycopg

from theworld.settings import LedgerSettings
from theworld.stores.ledger.postgres import connection_parameters

PATIENT_S = 60.0


def settings_for(url: str, name: str, **given: Any) -> LedgerSettings:
    """Return the settings of a ledger of that name on the server of an address, which may hold user and password."""
    parts = urlsplit(url)
    values: dict[str, Any] = {
        "url": f"postgresql+psycopg://{parts.hostname}:{parts.port}{parts.path}",
        "username": parts.username,
        "password": parts.password,
        "namespace": f"test_{name}",
        "timeout_s": PATIENT_S,
        "probe_s": 0.1,
    }
    return LedgerSettings.model_validate({**values, **given})


def drop_schema(settings: LedgerSettings) -> None:
    """Remove the ledger."""
    with psycopg.connect(**connection_parameters(settings)) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {settings.namespace} CASCADE".encode())
