"""PostgreSQL, every statement in a read-only transaction of its own with a statement timeout. Needs psycopg."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from theworld.errors import DatabaseError, StatementRefusedError
from theworld.packages import install_command
from theworld.sql.engines import Dialect, Rows, to_cell
from theworld.state.tables import Cell

if TYPE_CHECKING:
    import psycopg

CONNECT_TIMEOUT_S = 5


class PostgresEngine:
    """One PostgreSQL database over one connection; give it a role that may only read."""

    dialect: Dialect = "postgres"

    def __init__(self, url: str) -> None:
        self._url, parts = url, urlsplit(url)
        self.name = f"postgresql://{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

    def schema(self) -> Iterable[tuple[str, str]]:
        """Return the live tables and views with their columns, those on the search path also without schema."""
        query = (
            "SELECT table_schema, table_name, column_name, table_schema = ANY(current_schemas(false)) "
            "FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        rows = self.read(query, {}, max_rows=100_000, timeout_ms=10_000).rows
        whole = [(f"{schema}.{table}", str(column)) for schema, table, column, _ in rows]
        return [*whole, *((str(table), str(column)) for _, table, column, bare in rows if bare)]

    def read(self, statement: str, parameters: Mapping[str, Cell], *, max_rows: int, timeout_ms: float) -> Rows:
        """Run one statement; see `Engine.read`."""
        end = time.monotonic() + timeout_ms / 1000
        if not self._lock.acquire(timeout=timeout_ms / 1000):
            raise DatabaseError(f"it was busy with other statements for {timeout_ms:.0f} ms", where=self.name)
        try:
            connection = self._connect()
            import psycopg

            left_ms = max(1, int(1000 * (end - time.monotonic())))
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION READ ONLY")
                    cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(left_ms)])
                    # Parameters and `prepare` send it by the extended protocol, which takes one statement only.
                    cursor.execute(statement.encode(), dict(parameters), prepare=True)
                    rows = cursor.fetchmany(max_rows + 1) if cursor.description else []
                    columns = tuple(column.name for column in cursor.description or ())
            except psycopg.errors.QueryCanceled as error:
                said = f"the statement took longer than {timeout_ms:.0f} ms and was ended"
                raise DatabaseError(said, where=self.name) from error
            except (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege) as error:
                raise StatementRefusedError(f"the statement is not allowed: {_line(error)}", where=self.name) from error
            except psycopg.Error as error:
                raise DatabaseError(f"the statement failed: {_line(error)}", where=self.name) from error
        finally:
            self._lock.release()
        return Rows(columns, tuple(tuple(map(to_cell, row)) for row in rows[:max_rows]), len(rows) > max_rows)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _connect(self) -> psycopg.Connection[Any]:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        try:
            import psycopg
        except ImportError as error:
            remedy = f"Install it: {install_command('postgres')}"
            raise DatabaseError("PostgreSQL needs the package psycopg", where="database.url", remedy=remedy) from error
        try:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT_S,
                options="-c default_transaction_read_only=on",
                application_name="theworld",
            )
        except psycopg.Error as error:
            raise DatabaseError(
                f"it cannot be reached: {_line(error)}", where=self.name, remedy="Check database.url."
            ) from error
        return self._connection


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
