"""Engines: one file each, behind one protocol."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from theworld.errors import SettingsError
from theworld.sql.engines.postgres import PostgresEngine
from theworld.sql.engines.protocol import Dialect, Engine, Rows
from theworld.sql.engines.sqlite import SQLiteEngine
from theworld.sql.mapping import MappedTable

__all__ = ["Dialect", "Engine", "PostgresEngine", "Rows", "SQLiteEngine", "open_engine"]


def open_engine(url: str, tables: Mapping[str, MappedTable]) -> Engine:
    """Return the engine that a URL names: sqlite:///FILE or postgresql://... ; SettingsError for any other."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SQLiteEngine(Path(rest[1:]).expanduser(), tables)
    if scheme in {"postgresql", "postgres"} and rest:
        return PostgresEngine(url)
    raise SettingsError(
        f"{scheme or 'nothing'}:// is no database that can be asked",
        where="database.url",
        remedy="Use sqlite:///FILE (sqlite:////FILE for an absolute path) or postgresql://USER@HOST/DATABASE.",
    )
