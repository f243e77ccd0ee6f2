"""The connection to Neo4j: calls that end in time, and the driver's errors in our own words.

The driver waits minutes for a server that hangs. So each call runs in a thread of its own, which is left behind when it
is late: it ends when the server answers, or with the connection. The circuit breaker's probe begins with a new driver,
and the old one is closed by whoever uses it last, since nobody may use a driver that is being closed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, LiteralString, TypeVar

from neo4j import READ_ACCESS, Driver, GraphDatabase, Query, Session, Transaction
from neo4j.exceptions import AuthError, ClientError, DriverError, Forbidden, Neo4jError
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from theworld.deadline import begin
from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import GraphSettings
from theworld.stores.engine_access import NOT_UNDERSTOOD, CircuitBreaker, misunderstood, shortened, tls_context

# The driver tells of every broken connection; ours are raised and named, and an application that wants both sets it up.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

T = TypeVar("T")
Row = Sequence[Any]
Statement = tuple[LiteralString, Mapping[str, Any]]
"""Cypher and its values, which it finds in `$given`: texts are written in the source, whatever varies is a value."""
Work = Callable[[Transaction], T]

_GRACE_S = 0.2
"""How much longer than the server's own limit a caller waits, so that the server's is told where it works."""
_PLANNING_S = 30.0
"""Longest wait for one query to be planned: a server that has just started takes seconds where it later takes none."""
_PLANNED_AT_ONCE = 2
_MADE_MEANWHILE = (
    "EquivalentSchemaRuleAlreadyExists",
    "IndexAlreadyExists",
    "ConstraintAlreadyExists",
    "DeadlockDetected",
)
"""What Neo4j says, for all its IF NOT EXISTS, of a constraint or index that another session is making."""
_UNTIL_MADE = Retrying(
    retry=retry_if_exception(lambda e: isinstance(e, Neo4jError) and any(s in (e.code or "") for s in _MADE_MEANWHILE)),
    wait=wait_exponential(0.02, max=1.0),
    stop=stop_after_attempt(9),
    reraise=True,
)
"""Looks at it again. Of several that wait for each other Neo4j refuses one, so the rest gets on."""
_IDLE_S = 2.0
"""A connection unused for longer is tried before it is used: the server may have been started anew meanwhile."""


class Neo4jClient:
    """One driver with its pool of connections; thread-safe. Nothing is sent before the first call."""

    def __init__(self, settings: GraphSettings) -> None:
        self._settings = settings
        self.where = f"Neo4j at {settings.url}"
        self._driver: Driver | None = None
        self._uses: Counter[Driver] = Counter()
        self._lock = threading.Lock()
        self._planned: Sequence[Statement] = ()
        self._plans: Sequence[Callable[[], None]] = ()
        self._planning: list[Future[None]] = []
        self._closed = False
        self._breaker = CircuitBreaker(self.where, settings, self._probe)

    def version(self) -> str:
        """Return the server's version, asked now; raises EngineUnavailableError when it does not answer."""
        limit = self._settings.timeout_s
        (rows,) = self._within(limit, lambda: self._read((_VERSION, {}), limit))
        return str(rows[0][0])

    def _probe(self) -> None:
        """Ask whether it answers, over new connections: old ones may be broken without knowing it.

        One that has been started anew is let alone until it has planned the queries too, or each would miss its limit.
        """
        self._retire()
        self.version()
        self._within(_PLANNING_S * len(self._planned), *self._plans)

    def _retire(self) -> None:
        """Let the next call begin with new connections; the old ones are closed once nobody waits for them."""
        with self._lock:
            old, self._driver = self._driver, None
        if old is not None:
            self._close_unused(old)

    def _close_unused(self, driver: Driver) -> None:
        """Close a driver that is no longer the one to use, unless someone still waits for it or it is closed."""
        with self._lock:
            unused = driver is not self._driver and self._uses.get(driver) == 0
            if unused:
                del self._uses[driver]
        if unused:
            driver.close()

    def read(self, *statements: Statement) -> list[list[Row]]:
        """Return the rows of each statement, which it collects into one list; several are asked side by side."""
        limit = self._settings.timeout_s
        works = [partial(self._read, statement, limit) for statement in statements]
        try:
            with self._breaker.guard():
                return self._within(limit, *works)
        except EngineUnavailableError:
            if self._breaker.reason is None:
                self._plan_behind()
            raise

    def write(self, work: Work[T]) -> T:
        """Do work in one transaction: all of it, or nothing; nothing either when it is given up before its commit."""
        limit = self._settings.write_timeout_s
        end = time.monotonic() + limit

        def written() -> T:
            with self._session() as session, session.begin_transaction(timeout=limit) as transaction:
                done = work(transaction)
                if time.monotonic() > end:
                    raise TimeoutError("the write was given up")
                transaction.commit()
                return done

        with self._breaker.guard():
            return self._within(limit, written)[0]

    def run_alone(self, statement: Statement) -> list[Row]:
        """Run a statement that makes its own transaction, also when others make the same thing at the same moment."""
        limit = self._settings.write_timeout_s
        with self._breaker.guard():
            return self._within(limit, lambda: _UNTIL_MADE(self._alone, statement, limit))[0]

    def _within(self, seconds: float, *works: Callable[[], T]) -> list[T]:
        """Return what some works return, done side by side; EngineUnavailableError when one is late."""
        if self._closed:
            raise EngineUnavailableError("the client was closed.", where=self.where)
        begun = [begin(work, name=self.where) for work in works]
        done, late = wait(begun, seconds + _GRACE_S, FIRST_EXCEPTION)
        try:
            for one in done:
                one.result()
        except (AuthError, Forbidden) as error:
            remedy = "Check graph.username and graph.password, and the user's rights (docs/engines.md)."
            raise StoreError(f"Neo4j refuses the user: {error.message}", where=self.where, remedy=remedy) from error
        except ClientError as error:
            what = f"Neo4j refused: {error.code} {error.message}"
            timed_out = error.code is not None and "TransactionTimedOut" in error.code
            raise (EngineUnavailableError if timed_out else StoreError)(what, where=self.where) from error
        except (Neo4jError, DriverError, OSError) as error:
            what = f"Neo4j cannot be reached: {type(error).__name__} {shortened(error)}"
            raise EngineUnavailableError(what, where=self.where) from error
        except Exception as error:
            # Errors of its protocol the driver raises without exporting them.
            if isinstance(error, NOT_UNDERSTOOD) or type(error).__module__.startswith("neo4j."):
                raise misunderstood("Neo4j", error, self.where) from error
            raise
        if late:
            raise EngineUnavailableError(f"no answer after {seconds:g} s.", where=self.where)
        return [one.result() for one in begun]

    @contextmanager
    def _session(self, **options: Any) -> Iterator[Session]:
        with self._lock:
            driver = self._driver = self._driver or _driver(self._settings)
            self._uses[driver] += 1
        try:
            with driver.session(database=self._settings.database, fetch_size=-1, **options) as session:
                yield session
        finally:
            with self._lock:
                self._uses[driver] -= 1
            self._close_unused(driver)

    def _read(self, statement: Statement, limit: float) -> list[Row]:
        text, parameters = statement
        with self._session(default_access_mode=READ_ACCESS) as session:
            result = session.run(Query(text, timeout=limit), given=parameters)
            rows: list[Row] = result.fetch(1)[0][0]
            result.consume()
            return rows

    def warm_up(self, *statements: Statement) -> None:
        """Connect and let the server plan these statements, without waiting; again whenever it may have forgotten."""

        def plan(some: Sequence[Statement]) -> None:
            for statement in some:
                self._read(statement, _PLANNING_S)

        self._planned = statements
        self._plans = [partial(plan, statements[first::_PLANNED_AT_ONCE]) for first in range(_PLANNED_AT_ONCE)]
        self._plan_behind()

    def _plan_behind(self) -> None:
        if all(one.done() for one in self._planning):
            self._planning = [begin(plan, name=self.where) for plan in self._plans]

    def _alone(self, statement: Statement, limit: float) -> list[Row]:
        text, parameters = statement
        with self._session() as session:
            return [record.values() for record in session.run(Query(text, timeout=limit), given=parameters)]

    def close(self) -> None:
        """Close the connections."""
        self._breaker.close()
        wait(self._planning, self._settings.timeout_s)
        self._closed = True
        self._retire()


_VERSION: LiteralString = (
    "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN collect([versions[0]])"
)


def _driver(settings: GraphSettings) -> Driver:
    assert settings.url is not None
    scheme, _, rest = settings.url.partition("://")
    plain, _, secured = scheme.partition("+")
    secure: dict[str, Any] = {}
    if secured:
        context = tls_context(settings if secured == "s" else settings.model_copy(update={"verify": False}))
        secure = {"encrypted": True, "ssl_context": context}
    return GraphDatabase.driver(
        f"{plain}://{rest}",
        auth=settings.credentials(),
        connection_timeout=settings.timeout_s,
        connection_acquisition_timeout=settings.timeout_s,
        liveness_check_timeout=_IDLE_S,
        max_connection_pool_size=settings.connections,
        max_transaction_retry_time=0,
        notifications_min_severity="OFF",
        telemetry_disabled=True,
        **secure,
    )
