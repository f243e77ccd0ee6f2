"""The connection to Neo4j: calls that end in time, and the driver's errors in our own words.

The driver's blocking flavour waits for ever for a server that hangs; its asynchronous one can be given up cleanly. So
the latter runs in a thread of its own, and calls are handed to it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, LiteralString, TypeVar

from neo4j import READ_ACCESS, AsyncDriver, AsyncGraphDatabase, AsyncSession, AsyncTransaction, Query
from neo4j.exceptions import AuthError, ClientError, DriverError, Forbidden, Neo4jError

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import GraphSettings
from theworld.stores.circuit_breaker import CircuitBreaker
from theworld.stores.engine_access import tls_context

# The driver tells of every broken connection; ours are raised and named, and an application that wants both sets it up.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

T = TypeVar("T")
Row = Sequence[Any]
Statement = tuple[LiteralString, Mapping[str, Any]]
"""Cypher and its values, which it finds in `$given`: texts are written in the source, whatever varies is a value."""
Work = Callable[[AsyncTransaction], Awaitable[T]]

_GRACE_S = 0.2
"""How much longer than the server's own limit a caller waits, so that the server's is told where it works."""
_PLANNING_S = 30.0
"""Longest wait for one query to be planned: a server that has just started takes seconds where it later takes none."""
_PLANNED_AT_ONCE = 2
_NOT_UNDERSTOOD = (LookupError, TypeError, ValueError, AttributeError)
"""What reading a reply of another shape raises; errors of its protocol the driver raises without exporting them."""
_MADE_MEANWHILE = (
    "EquivalentSchemaRuleAlreadyExists",
    "IndexAlreadyExists",
    "ConstraintAlreadyExists",
    "DeadlockDetected",
)
"""What Neo4j says, for all its IF NOT EXISTS, of a constraint or index that another session is making."""
_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.0)
"""Before it is looked at again. Of several that wait for each other Neo4j refuses one, so the rest gets on."""
_IDLE_S = 2.0
"""A connection unused for longer is tried before it is used: the server may have been started anew meanwhile."""


class Neo4jClient:
    """One driver with its pool of connections; thread-safe. Nothing is sent before the first call."""

    def __init__(self, settings: GraphSettings) -> None:
        self._settings = settings
        self.where = f"Neo4j at {settings.url}"
        self._driver: AsyncDriver | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._planned: Sequence[Statement] = ()
        self._warming: concurrent.futures.Future[None] | None = None
        self._breaker = CircuitBreaker(
            self.where, failures=settings.failures, probe_s=settings.probe_s, probe=self._probe
        )

    def version(self) -> str:
        """Return the server's version, asked now; raises EngineUnavailableError when it does not answer."""
        rows = self._within(self._settings.timeout_s, lambda: self._read([(_VERSION, {})], self._settings.timeout_s))
        return str(rows[0][0][0])

    def _probe(self) -> None:
        """Ask whether it answers, over new connections: old ones may be broken without knowing it.

        One that has been started anew is let alone until it has planned the queries too, or each would miss its limit.
        """
        limit = self._settings.timeout_s

        async def work() -> None:
            old, self._driver = self._driver, None
            if old is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(old.close(), limit / 2)
            await self._read([(_VERSION, {})], limit)
            await self._plan()

        self._within(2 * limit + _PLANNING_S * len(self._planned), work)

    def read(self, *statements: Statement) -> list[list[Row]]:
        """Return the rows of each statement, which it collects into one list; several are asked side by side."""
        limit = self._settings.timeout_s
        try:
            return self._breaker.call(lambda: self._within(limit, lambda: self._read(statements, limit)))
        except EngineUnavailableError:
            if self._breaker.reason is None:
                self._plan_behind()
            raise

    def write(self, work: Work[T]) -> T:
        """Do work in one transaction: all of it, or nothing."""
        limit = self._settings.write_timeout_s
        return self._breaker.call(lambda: self._within(limit, lambda: self._write(work, limit)))

    def run_alone(self, statement: Statement) -> list[Row]:
        """Run a statement that makes its own transaction, such as one of the schema."""
        limit = self._settings.write_timeout_s
        return self._breaker.call(lambda: self._within(limit, lambda: self._alone(statement, limit)))

    def ensure(self, schema: LiteralString) -> None:
        """Make a constraint or an index unless it is there, also when other processes begin at the same moment."""
        limit = self._settings.write_timeout_s
        self._breaker.call(lambda: self._within(limit, lambda: self._ensure(schema, limit)))

    def _within(self, seconds: float, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        future = asyncio.run_coroutine_threadsafe(work(), self._running_loop())
        try:
            return future.result(seconds + _GRACE_S)
        except (concurrent.futures.TimeoutError, TimeoutError):
            future.cancel()
            raise EngineUnavailableError(f"no answer after {seconds:g} s.", where=self.where) from None
        except concurrent.futures.CancelledError:
            raise EngineUnavailableError("the client was closed.", where=self.where) from None
        except (AuthError, Forbidden) as error:
            raise StoreError(
                f"Neo4j refuses the user: {error.message}",
                where=self.where,
                remedy="Check graph.username and graph.password, and the user's rights (docs/engines.md).",
            ) from error
        except ClientError as error:
            what = f"Neo4j refused: {error.code} {error.message}"
            timed_out = error.code is not None and "TransactionTimedOut" in error.code
            raise (EngineUnavailableError if timed_out else StoreError)(what, where=self.where) from error
        except (Neo4jError, DriverError, OSError) as error:
            what = f"Neo4j cannot be reached: {type(error).__name__} {_short(error)}"
            raise EngineUnavailableError(what, where=self.where) from error
        except Exception as error:
            if not isinstance(error, _NOT_UNDERSTOOD) and not type(error).__module__.startswith("neo4j."):
                raise
            what = f"Neo4j answered something else than it should: {type(error).__name__} {_short(error)}"
            raise EngineUnavailableError(what, where=self.where) from error

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=self.where, daemon=True)
                self._thread.start()
            return self._loop

    @contextlib.asynccontextmanager
    async def _session(self, **options: Any) -> AsyncIterator[AsyncSession]:
        if self._driver is None:
            self._driver = _driver(self._settings)
        session = self._driver.session(database=self._settings.database, fetch_size=-1, **options)
        try:
            async with session:
                yield session
        except BaseException:
            # The driver leaves a session open that is given up, or fails, while it is being closed.
            session.cancel()
            await session.close()
            raise

    async def _read(self, statements: Sequence[Statement], limit: float) -> list[list[Row]]:
        # Each ends by itself: when one fails, others may wait on broken connections, which the pool lacks till then.
        asked = (asyncio.wait_for(self._read_one(statement, limit), limit) for statement in statements)
        return list(await asyncio.gather(*asked))

    async def _read_one(self, statement: Statement, limit: float) -> list[Row]:
        text, parameters = statement
        async with self._session(default_access_mode=READ_ACCESS) as session:
            result = await session.run(Query(text, timeout=limit), given=parameters)
            rows: list[Row] = (await result.fetch(1))[0][0]
            await result.consume()
            return rows

    def warm_up(self, *statements: Statement) -> None:
        """Connect and let the server plan these statements, without waiting; again whenever it may have forgotten."""
        self._planned = statements
        self._plan_behind()

    def _plan_behind(self) -> None:
        if self._warming is None or self._warming.done():
            self._warming = asyncio.run_coroutine_threadsafe(self._plan(), self._running_loop())

    async def _plan(self) -> None:
        await asyncio.gather(*(self._plan_some(first) for first in range(_PLANNED_AT_ONCE)))

    async def _plan_some(self, first: int) -> None:
        for statement in self._planned[first::_PLANNED_AT_ONCE]:
            await asyncio.wait_for(self._read_one(statement, _PLANNING_S), _PLANNING_S)

    async def _alone(self, statement: Statement, limit: float) -> list[Row]:
        text, parameters = statement
        async with self._session() as session:
            result = await session.run(Query(text, timeout=limit), given=parameters)
            return [record.values() async for record in result]

    async def _ensure(self, schema: LiteralString, limit: float) -> None:
        for pause in _PAUSES_S:
            try:
                await self._alone((schema, {}), limit)
            except Neo4jError as error:
                if not any(one in (error.code or "") for one in _MADE_MEANWHILE):
                    raise
                await asyncio.sleep(pause)
            else:
                return
        await self._alone((schema, {}), limit)

    async def _write(self, work: Work[T], limit: float) -> T:
        async with self._session() as session, await session.begin_transaction(timeout=limit) as transaction:
            done = await work(transaction)
            await transaction.commit()
            return done

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._breaker.close()
        if self._warming is not None:
            # A connection that is given up while it is asked is left to the collector.
            concurrent.futures.wait([self._warming], self._settings.timeout_s)
        with self._starting:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is None or thread is None:
            return
        closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
        try:
            closing.result(self._settings.timeout_s + _GRACE_S)
        except (concurrent.futures.TimeoutError, TimeoutError):
            closing.cancel()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(self._settings.timeout_s)

    async def _close(self) -> None:
        if self._driver is not None:
            await self._driver.close()
            self._driver = None


_VERSION: LiteralString = (
    "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN collect([versions[0]])"
)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and let go of what it holds."""
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_end_all(asyncio.all_tasks(loop)))
        loop.run_until_complete(_cut_off(loop))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _end_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Give up what is still waiting for a server, and let it close its connections."""
    some = list(tasks)
    for task in some:
        task.cancel()
    await asyncio.gather(*some, return_exceptions=True)


async def _cut_off(loop: asyncio.AbstractEventLoop) -> None:
    """Abort the connections that a driver given up half-way has left; it no longer knows them, only the loop does."""
    for transport in list(getattr(loop, "_transports", {}).values()):
        transport.abort()
    await asyncio.sleep(0)


def _driver(settings: GraphSettings) -> AsyncDriver:
    assert settings.url is not None
    scheme, _, rest = settings.url.partition("://")
    plain, _, secured = scheme.partition("+")
    secure: dict[str, Any] = {}
    if secured:
        context = tls_context(settings if secured == "s" else settings.model_copy(update={"verify": False}))
        secure = {"encrypted": True, "ssl_context": context}
    return AsyncGraphDatabase.driver(
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


def _short(error: object) -> str:
    return " ".join(str(error).split())[:200]
