"""Requests on record: written whole or not at all, read by tenant, deleted by age."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, delete, func, insert, select

from theworld.errors import StoreError
from theworld.stores.ledger.database import Database, insert_numbered, insert_rows
from theworld.stores.ledger.service_tables import (
    Feedback,
    RequestLog,
    RerankScore,
    RetrievalCandidate,
    RouterDecisionLog,
)

PAGE = 500
"""Records read at once when all are gone through."""

Columns = dict[str, Any]


@dataclass(slots=True)
class RequestRecord:
    """One request with the rows of its four tables, as columns by name (without keys of the database)."""

    request: Columns
    route: Columns | None = None
    candidates: list[Columns] = field(default_factory=list)
    """By channel and rank."""
    ranking: list[Columns] = field(default_factory=list)
    """The final list, by position."""


@dataclass(eq=False)
class RequestJournal:
    """What the service answered, and what was said of it."""

    _ledger: Database

    def write(self, records: Sequence[RequestRecord]) -> None:
        """Write records in one transaction."""
        with self._ledger.writing(()) as connection:
            rows = insert_numbered(connection, RequestLog, [record.request for record in records])
            numbered = list(zip(rows, records, strict=True))
            routes = [{**record.route, "request": row} for row, record in numbered if record.route]
            candidates = [{**one, "request": row} for row, record in numbered for one in record.candidates]
            ranking = [{**one, "request": row} for row, record in numbered for one in record.ranking]
            insert_rows(connection, RetrievalCandidate, candidates)
            insert_rows(connection, RerankScore, ranking)
            insert_rows(connection, RouterDecisionLog, routes)

    def accepts(self) -> bool:
        """Return whether the ledger takes a transaction that writes, so that a refused record is to blame itself."""
        try:
            with self._ledger.writing(()):
                return True
        except StoreError:
            return False

    def read(self, request_id: str, *, tenant: str) -> RequestRecord | None:
        """Return one record; None alike when there is none and when it is another tenant's."""
        with self._ledger.reading() as connection:
            found = connection.execute(
                select(RequestLog.__table__).where(RequestLog.tenant == tenant, RequestLog.request_id == request_id)
            ).one_or_none()
            if found is None:
                return None

            def its(table: type[RetrievalCandidate | RerankScore | RouterDecisionLog], *order: str) -> list[Columns]:
                query = select(table.__table__).where(table.request == found.id).order_by(*order)
                return [_columns(row) for row in connection.execute(query)]

            route = next(iter(its(RouterDecisionLog)), None)
            candidates, ranking = its(RetrievalCandidate, "source", "rank"), its(RerankScore, "position")
            return RequestRecord(_columns(found), route, candidates, ranking)

    def knows(self, request_id: str, *, tenant: str) -> bool:
        """Return whether a tenant has such a request."""
        query = select(RequestLog.id).where(RequestLog.tenant == tenant, RequestLog.request_id == request_id)
        return self._ledger.glance(query) is not None

    def tenant_of(self, request_id: str) -> str | None:
        """Return whose request it is (for the command line, which is its owner's)."""
        query = select(RequestLog.tenant).where(RequestLog.request_id == request_id)
        found: str | None = self._ledger.glance(query)
        return found

    def requests(
        self, tenant: str, *, since_ms: int = 0, endpoints: Sequence[str] = (), arm: str | None = "main"
    ) -> Iterator[Columns]:
        """Yield the rows of retrieval_request_log, oldest first, each with `feedback` (its latest, or None).

        `path` and `intent` are added from the router's decision. Pages are read one by one: no transaction stays open.
        """
        query = select(Feedback.__table__).where(Feedback.tenant == tenant).order_by(Feedback.id)
        latest = {row.request_id: _columns(row) for row in self._ledger.rows(query)}
        log, last = RequestLog, 0
        while True:
            query = (
                select(log.__table__, RouterDecisionLog.path, RouterDecisionLog.intent)
                .outerjoin(RouterDecisionLog, RouterDecisionLog.request == log.id)
                .where(log.tenant == tenant, log.created_ms >= since_ms, log.id > last)
                .order_by(log.id)
                .limit(PAGE)
            )
            if endpoints:
                query = query.where(log.endpoint.in_(endpoints))
            if arm is not None:
                query = query.where(log.arm == arm)
            rows = self._ledger.rows(query)
            for row in rows:
                yield {**_columns(row), "feedback": latest.get(row.request_id)}
            if len(rows) < PAGE:
                return
            last = rows[-1].id

    def arms(self, parent: str, *, tenant: str) -> list[str]:
        """Return the request ids of the other arms run beside a request."""
        query = select(RequestLog.request_id).where(RequestLog.tenant == tenant, RequestLog.parent == parent)
        return [row.request_id for row in self._ledger.rows(query.order_by(RequestLog.id))]

    def add_feedback(self, values: Mapping[str, Any]) -> None:
        """Keep what a user said of an answer."""
        self._ledger.execute(insert(Feedback).values(**values))

    def feedback(self, request_id: str, *, tenant: str) -> list[Columns]:
        """Return what was said of one answer, oldest first."""
        query = select(Feedback.__table__).where(Feedback.tenant == tenant, Feedback.request_id == request_id)
        return [_columns(row) for row in self._ledger.rows(query.order_by(Feedback.id))]

    def judgements(
        self, tenant: str, *, verdict: str | None = None, after: int = 0, limit: int = 100
    ) -> tuple[list[Columns], int, int | None]:
        """Return a page of all feedback, the newest first, with question, kind and path of its request.

        With it come how much there is in all, and the number to go on after, None at the end.
        """
        log, route = RequestLog, RouterDecisionLog
        mine = [Feedback.tenant == tenant, *([Feedback.verdict == verdict] if verdict else [])]
        query = (
            select(Feedback.__table__, log.question, log.kind, log.elapsed_ms, route.path)
            .outerjoin(log, (log.tenant == Feedback.tenant) & (log.request_id == Feedback.request_id))
            .outerjoin(route, route.request == log.id)
            .where(*mine, *([Feedback.id < after] if after else []))
            .order_by(Feedback.id.desc())
        )
        with self._ledger.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(Feedback).where(*mine)) or 0
            rows = connection.execute(query.limit(limit + 1)).all()
        return [_columns(row) for row in rows[:limit]], total, rows[limit - 1].id if len(rows) > limit else None

    def route_outcomes(self, tenant: str, *, since_ms: int = 0) -> dict[str, tuple[int, int]]:
        """Return (successes, attempts) by the router's path, from the requests that users gave feedback on.

        The latest feedback on a request counts; `good` is a success. Requests nobody judged say nothing about a route.
        """
        newest = select(func.max(Feedback.id)).where(Feedback.tenant == tenant).group_by(Feedback.request_id)
        query = (
            select(RouterDecisionLog.path, Feedback.verdict, func.count())
            .join(RequestLog, RequestLog.id == RouterDecisionLog.request)
            .join(Feedback, (Feedback.tenant == RequestLog.tenant) & (Feedback.request_id == RequestLog.request_id))
            .where(RequestLog.tenant == tenant, RequestLog.created_ms >= since_ms, Feedback.id.in_(newest))
            .group_by(RouterDecisionLog.path, Feedback.verdict)
            .order_by(RouterDecisionLog.path)
        )
        found: dict[str, tuple[int, int]] = {}
        for path, verdict, count in self._ledger.rows(query):
            successes, attempts = found.get(path, (0, 0))
            found[path] = (successes + (count if verdict == "good" else 0), attempts + count)
        return found

    def prune(self, before_ms: int) -> int:
        """Delete the records and feedback made before a moment; return how many records."""
        return self._ledger.execute(
            delete(RequestLog).where(RequestLog.created_ms < before_ms),
            delete(Feedback).where(Feedback.created_ms < before_ms),
        )


def _columns(row: Row[Any]) -> Columns:
    return dict(row._mapping)
