"""What a database engine must offer: its live schema, and one bounded read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from theworld.state.tables import Cell

Dialect = Literal["sqlite", "postgres"]


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned."""

    columns: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[Cell, ...], ...]
    """The rows, at most as many as asked."""
    truncated: bool
    """True when there were more."""


class Engine(Protocol):
    """A database that can only be read."""

    @property
    def dialect(self) -> Dialect:
        """The SQL it speaks, by sqlglot's name."""

    @property
    def name(self) -> str:
        """What to call it in messages; holds no password."""

    def schema(self) -> Mapping[str, frozenset[str]]:
        """Return the live tables and views with their columns. Raises DatabaseError."""

    def read(self, statement: str, parameters: Mapping[str, Cell], *, max_rows: int, timeout_ms: float) -> Rows:
        """Run one statement and return at most `max_rows` rows.

        Raises StatementRefusedError for what is not allowed, DatabaseError for what fails or takes too long.
        """

    def close(self) -> None:
        """Give up the connection."""
