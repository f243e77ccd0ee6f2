"""What a database engine must offer, its live schema and one bounded read, and the engine that an address names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol

from theworld.errors import SettingsError
from theworld.sql.mapping import MappedTable
from theworld.state.traces import Cell

Dialect = Literal["sqlite", "postgres"]


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """At most as many as asked."""
    truncated: bool
    """Whether there were more."""


def to_cell(value: Any) -> Cell:
    """Return a driver's value as a table shows it; of bytes only how many they are."""
    if isinstance(value, bytes | memoryview):
        return f"({len(value)} bytes)"
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


class Engine(Protocol):
    """A database that can only be read."""

    dialect: Dialect
    name: str
    """What to call it in messages; holds no password."""

    def schema(self) -> Iterable[tuple[str, str]]:
        """Return the live tables and views, each with each of its columns. Raises DatabaseError."""

    def read(self, statement: str, parameters: Mapping[str, Cell], *, max_rows: int, timeout_ms: float) -> Rows:
        """Run one statement and return at most `max_rows` rows.

        Raises StatementRefusedError for what is not allowed, DatabaseError for what fails or takes too long.
        """

    def close(self) -> None:
        """Give up the connection."""


def open_engine(url: str, tables: Mapping[str, MappedTable]) -> Engine:
    """Return the engine that a URL names: sqlite:///FILE or postgresql://... ; SettingsError for any other."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from theworld.sql.engines.sqlite import SQLiteEngine

        return SQLiteEngine(Path(rest[1:]).expanduser(), tables)
    if scheme in {"postgresql", "postgres"} and rest:
        from theworld.sql.engines.postgres import PostgresEngine

        return PostgresEngine(url)
    raise SettingsError(
        f"{scheme or 'nothing'}:// is no database that can be asked",
        where="database.url",
        remedy="Use sqlite:///FILE (sqlite:////FILE for an absolute path) or postgresql://USER@HOST/DATABASE.",
    )
