"""SQLite, opened read-only, with an authorizer that knows the mapped columns and a handler that ends long work."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path

from sqlglot import exp

from theworld.errors import DatabaseError, StatementRefusedError
from theworld.sql.engines import Dialect, Rows, to_cell
from theworld.sql.mapping import MappedTable
from theworld.state.tables import Cell

OPCODES_BETWEEN_LOOKS = 1000
"""Steps of SQLite's machine between two looks at the clock: about 10 microseconds."""
_FUNCTIONS = frozenset("count sum avg min max abs round coalesce nullif sqrt strftime julianday like".split())
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 200,
}


class SQLiteEngine:
    """One SQLite file. Every read has a connection of its own, so that threads never share one."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path, tables: Mapping[str, MappedTable]) -> None:
        self._path, self.name = path, str(path)
        self._mapped = {
            name.casefold(): frozenset(column.casefold() for column in (*table.columns, table.tenant) if column)
            for name, table in tables.items()
        }

    def schema(self) -> Iterable[tuple[str, str]]:
        """Return the live tables and views with their columns."""
        with closing(self._connect()) as connection:
            try:
                query = (
                    "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
                    "WHERE m.type IN ('table', 'view')"
                )
                return connection.execute(query).fetchall()
            except sqlite3.Error as error:
                raise DatabaseError(f"its schema cannot be read: {error}", where=self.name) from error

    def read(self, statement: str, parameters: Mapping[str, Cell], *, max_rows: int, timeout_ms: float) -> Rows:
        """Run one statement; see `Engine.read`."""
        end, readable = time.perf_counter() + timeout_ms / 1000, self._readable_columns

        def allowed(
            action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None
        ) -> int:
            """Return whether SQLite may do what a statement asks: read mapped columns, and call harmless functions."""
            if action == sqlite3.SQLITE_READ:
                columns = readable.get((first or "").casefold())
                may = columns is not None and (not second or second.casefold() in columns)
            else:
                harmless = action == sqlite3.SQLITE_FUNCTION and (second or "").casefold() in _FUNCTIONS
                may = harmless or action == sqlite3.SQLITE_SELECT
            return sqlite3.SQLITE_OK if may else sqlite3.SQLITE_DENY

        with closing(self._connect(lock_ms=timeout_ms)) as connection:
            connection.set_authorizer(allowed)
            connection.set_progress_handler(lambda: int(time.perf_counter() > end), OPCODES_BETWEEN_LOOKS)
            try:
                cursor = connection.execute(statement, dict(parameters))
                rows = cursor.fetchmany(max_rows + 1)
            except (sqlite3.ProgrammingError, sqlite3.Warning) as error:
                raise StatementRefusedError(f"the statement is not allowed: {error}", where=self.name) from error
            except sqlite3.Error as error:
                said = str(error)
                if "not authorized" in said or "prohibited" in said:
                    refused = f"the statement reads or does what is not mapped: {said}"
                    raise StatementRefusedError(refused, where=self.name) from error
                late = f"the statement took longer than {timeout_ms:.0f} ms and was ended"
                failed = late if "interrupted" in said else f"the statement failed: {said}"
                raise DatabaseError(failed, where=self.name) from error
            columns = tuple(item[0] for item in cursor.description or ())
        return Rows(columns, tuple(tuple(map(to_cell, row)) for row in rows[:max_rows]), len(rows) > max_rows)

    def close(self) -> None:
        """Nothing is kept open."""

    def _connect(self, lock_ms: float = 5_000) -> sqlite3.Connection:
        connection, address = None, f"{self._path.resolve().as_uri()}?mode=ro"
        try:
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=lock_ms / 1000)
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA query_only = 1")
            connection.execute("PRAGMA trusted_schema = 0")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            remedy = "Name an SQLite file in database.url, such as sqlite:///path/to/file.sqlite."
            raise DatabaseError(f"it cannot be opened for reading: {error}", where=self.name, remedy=remedy) from error
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        return connection

    @cached_property
    def _readable_columns(self) -> Mapping[str, frozenset[str]]:
        """Mapped columns by table, and what mapped views read, found by asking SQLite itself."""
        found = {name: set(columns) for name, columns in self._mapped.items()}

        def note(action: int, first: str | None, second: str | None, _database: str | None, inner: str | None) -> int:
            if action == sqlite3.SQLITE_READ and inner and first and second:
                found.setdefault(first.casefold(), set()).add(second.casefold())
            return sqlite3.SQLITE_OK

        with closing(self._connect()) as connection:
            try:
                named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
                views = [str(name) for (name,) in named if str(name).casefold() in self._mapped]
                connection.set_authorizer(note)
                for view in views:
                    columns = (exp.column(column, quoted=True) for column in sorted(self._mapped[view.casefold()]))
                    query = exp.select(*columns).from_(exp.table_(view, quoted=True)).limit(0)
                    connection.execute(query.sql(dialect="sqlite"))
            except sqlite3.Error as error:
                raise DatabaseError(f"its views cannot be read: {error}", where=self.name) from error
        return {name: frozenset(columns) for name, columns in found.items()}
