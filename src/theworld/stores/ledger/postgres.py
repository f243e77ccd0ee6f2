"""A ledger on PostgreSQL: many writers, on any number of machines. Needs psycopg (the extra `postgres`).

How writers get along: each transaction first takes the lock of its tenants (an advisory lock, freed with the
transaction), so documents of one tenant are written one batch after the other, as in SQLite, and those of different
tenants side by side. Sequence numbers are taken last, from one row that stays locked until the commit: they become
visible in their order and without gaps, so whoever follows them never skips a change that is committed late.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import os
import selectors
import socket
import ssl
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, PoolProxiedConnection, Select, create_engine, event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, SQLAlchemyError

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.errors import EngineUnavailableError, SettingsError, StoreError
from theworld.packages import install_command
from theworld.settings import LedgerSettings
from theworld.single_flight import Lazy
from theworld.stores.engine_access import CA_FILE, CircuitBreaker
from theworld.stores.ledger.database import Database

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


class PostgresDatabase(Database):
    """The ledger's schema in a database."""

    remote = True

    def __init__(self, settings: LedgerSettings, *, writable: bool) -> None:
        """Prepare the connections; nothing is sent yet. SettingsError when psycopg is missing."""
        try:
            import psycopg
        except ImportError as error:
            what, remedy = "a ledger on PostgreSQL needs the package psycopg", install_command("postgres")
            raise SettingsError(what, where="ledger.url", remedy=f"Install it: {remedy}") from error
        self.namespace: str | None = settings.namespace
        self.where, self._writable = address(settings), writable
        self._settings, self._parameters = settings, connection_parameters(settings)
        self._connect: type[psycopg.Connection[Any]] = psycopg.Connection
        self._breaker = CircuitBreaker(self.where, settings, lambda: self._reached().close())
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=self._open,
            pool_size=settings.connections,
            max_overflow=settings.connections,
            pool_timeout=settings.timeout_s,
            pool_use_lifo=True,
            use_native_hstore=False,
        )
        event.listen(self._engine, "checkout", _refuse_broken)
        # Over the first connection SQLAlchemy asks for the server's version: within the limit.
        self._started = Lazy(lambda: self._in_time(lambda _: self._engine.connect().close(), "asked"))

    def _open(self) -> psycopg.Connection[Any]:
        """Open a connection within the limit; psycopg's own cannot be less than 2 s."""

        def connect(deadline: Deadline) -> psycopg.Connection[Any]:
            connection = self._connect.connect(**self._parameters)
            if deadline.expired:
                connection.close()
            return connection

        return self._in_time(connect, "connected to")

    def _in_time(self, work: Callable[[Deadline], T], what: str) -> T:
        deadline = Deadline.after(self._settings.timeout_s * 1000)
        try:
            return run_within(deadline, lambda: work(deadline), name="ledger")
        except DeadlineExceededError as error:
            raise EngineUnavailableError(f"cannot be {what}: {error}", where=self.where) from error

    @contextmanager
    def _entered(self, seconds: float, **options: Any) -> Iterator[Connection]:
        """Enter a connection of the pool whose work must be done in so many seconds."""
        with self._breaker.guard():
            late = threading.Event()
            try:
                self._started.get()
                with self._engine.connect() as plain:
                    connection = plain.execution_options(**options)
                    raw = connection.connection.dbapi_connection
                    assert raw is not None
                    with time_limit(raw, seconds, late), connection.begin():
                        yield connection
            except DBAPIError as error:
                said = f"did not answer within {seconds:g} s" if late.is_set() else ""
                raise explained(error, self.where, late=said) from error
            except SQLAlchemyError as error:
                raise EngineUnavailableError(f"cannot be asked: {error}", where=self.where) from error

    @contextmanager
    def writing(self, tenants: Collection[str] | None = None) -> Iterator[Connection]:
        """Enter one transaction that writes, once no other one writes the same tenants' knowledge."""
        if not self._writable:
            raise StoreError("the ledger was opened for reading.", where=self.where, remedy="Open it for writing.")
        with self._entered(self._settings.write_timeout_s) as connection:
            if tenants is None or tenants:  # always in the same order
                kind = "pg_advisory_xact_lock" if tenants is None else "pg_advisory_xact_lock_shared"
                connection.execute(text(f"SELECT {kind}({self._lock_number('')})"))
            for number in sorted({self._lock_number(f"tenant {tenant}") for tenant in tenants or ()}):
                connection.execute(text(f"SELECT pg_advisory_xact_lock({number})"))
            yield connection

    def _lock_number(self, name: str) -> int:
        """Return the number of a lock: those of one database share their numbers."""
        digest = hashlib.blake2b(f"theworld {self.namespace} {name}".encode("utf-8", "surrogatepass"), digest_size=8)
        return int.from_bytes(digest.digest(), "big", signed=True)

    @contextmanager
    def reading(self, *, patient: bool = True) -> Iterator[Connection]:
        """Enter a connection that sees one state of the tables and cannot write."""
        seconds = self._settings.write_timeout_s if patient else self._settings.timeout_s
        with self._entered(seconds, **_SNAPSHOT) as connection:
            yield connection

    def glance(self, query: Select[Any]) -> Any:
        """Return the one value of a small query in one round trip."""
        with self._entered(self._settings.timeout_s, isolation_level="AUTOCOMMIT") as connection:
            return connection.scalar(query)

    @contextmanager
    def lock_alone(self, name: str) -> Iterator[bool]:
        """Enter with whether this process alone has the lock: it is freed on leaving, or when its connection ends."""
        number = self._lock_number(f"alone {name}")
        taken = f"SELECT pg_try_advisory_lock({number})"
        with self._breaker.guard():
            connection = self._reached()
        with closing(connection):
            connection.autocommit = True
            with time_limit(connection, self._settings.timeout_s):
                try:
                    row = connection.execute(taken.encode()).fetchone()
                except self._connect.Error as error:
                    raise EngineUnavailableError(f"cannot be asked: {error}", where=self.where) from error
            alone = row is not None and bool(row[0])
            try:
                yield alone
            finally:
                if alone:
                    # The server ends a closed connection's session, and with it the lock, only some time later.
                    with suppress(self._connect.Error), time_limit(connection, self._settings.timeout_s):
                        connection.execute(f"SELECT pg_advisory_unlock({number})".encode())

    def bytes(self) -> int:
        """Return the size of all tables of the schema."""
        sizes = text(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = to_regnamespace(:name)"
        )
        with self.reading() as connection:
            return int(connection.scalar(sizes, {"name": self.namespace}) or 0)

    def _reached(self) -> psycopg.Connection[Any]:
        """Return a connection beside the pool."""
        try:
            return self._open()
        except self._connect.Error as error:
            raise EngineUnavailableError(f"cannot be reached: {error}", where=self.where) from error

    def close(self) -> None:
        """Close all connections."""
        self._breaker.close()
        self._engine.dispose()


@contextmanager
def time_limit(connection: Any, seconds: float, late: threading.Event | None = None) -> Iterator[None]:
    """Shut the connection's socket unless the block is left in time, so that whoever waits on it gets an error.

    psycopg has no limit of its own. `late` is set when the block was late.
    """
    lock, left = threading.Lock(), threading.Event()

    def cut() -> None:
        with lock:
            if not left.is_set():
                if late is not None:
                    late.set()
                # A connection that is closed already has no number, and raises its driver's own error.
                with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as one:
                    one.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:  # whoever uses the connection next keeps it
            left.set()


def _refuse_broken(connection: Any, _record: object, _proxy: PoolProxiedConnection) -> None:
    """Let the pool open another connection in place of one that the server has ended: it has something to say."""
    if connection.closed:
        raise DisconnectionError
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        if selector.select(0):  # something came in unasked: the end of the connection, most often
            raise DisconnectionError


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
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    # Encrypted with a checked certificate, unless the connection stays on this machine.
    encryption = {"sslmode": "require"}
    if not (settings.tls if settings.tls is not None else not here):
        encryption = {"sslmode": "disable"}
    elif settings.verify:
        file = settings.ca_file.expanduser() if settings.ca_file is not None else None
        if file is not None and not file.is_file():
            raise SettingsError(f"there is no file {file}.", where="servers.ca_file", remedy=CA_FILE)
        if file is None:  # psycopg brings its own OpenSSL, which knows none of the authorities that this machine trusts
            import certifi

            file = Path(ssl.get_default_verify_paths().cafile or certifi.where())
        encryption = {"sslmode": "verify-full", "sslrootcert": str(file)}
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
        **encryption,
    }
    return {name: value for name, value in found.items() if value is not None}


def _parts(settings: LedgerSettings) -> tuple[str, int, str]:
    parts = urlsplit(settings.url or "")
    try:
        port = parts.port or 5432
    except ValueError as error:
        raise SettingsError(f"the port is no number: {error}.", where="ledger.url") from error
    return parts.hostname or "localhost", port, unquote(parts.path.lstrip("/"))


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
    remedy = next((remedy for sign, remedy in _REMEDIES.items() if code is not None and code.startswith(sign)), "")
    if late or code is None or code.startswith(_UNAVAILABLE):
        # What refuses a connection comes without a code.
        refused = code is None and not late and "FATAL:" in said
        remedy = remedy or (_NOT_LET_IN if refused else "See whether the server runs, with `theworld doctor`.")
        return EngineUnavailableError(f"the ledger cannot be asked: {said}", where=where, remedy=remedy)
    return StoreError(f"the ledger failed: {said}", where=where, remedy=remedy)
