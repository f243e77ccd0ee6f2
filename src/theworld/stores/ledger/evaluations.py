"""Datasets, jobs, answers and results of evaluations, by tenant."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update
from sqlalchemy.orm import InstrumentedAttribute, aliased

from theworld.stores.ledger.service_ledger import ServiceLedger
from theworld.stores.ledger.service_tables import EvalAnswer, EvalDataset, EvalJob, EvalQuery, EvalResult

OPEN = ("queued", "running")
MOST_OPEN = 16
"""Jobs of a tenant that may wait or run; a table would grow without end, and a job may take an hour."""


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """One question of a stored set."""

    query_id: str
    text: str
    answers: tuple[str, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict)
    """Gold documents and their grades, all above 0."""
    type: str = ""
    """The set's own label, which results are also given by."""
    provenance: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as the table has it."""

    row: int
    tenant: str
    job_id: str
    dataset: int
    status: str
    request: Mapping[str, Any]
    total: int
    done: int
    cancel: bool
    error: str
    report: Mapping[str, Any] | None
    created_ms: int
    started_ms: int | None
    finished_ms: int | None


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A question set without its questions."""

    dataset_id: str
    name: str
    questions: int
    provenance: Mapping[str, Any]
    created_ms: int


class Evaluations:
    """Evaluation sets and jobs on record."""

    def __init__(self, ledger: ServiceLedger) -> None:
        self._ledger = ledger

    def add_dataset(self, tenant: str, name: str, queries: Sequence[StoredQuery], provenance: Mapping[str, Any]) -> str:
        """Keep a question set; return its id."""
        dataset_id = uuid.uuid4().hex
        row = {
            "tenant": tenant,
            "dataset_id": dataset_id,
            "name": name,
            "provenance": dict(provenance),
            "created_ms": now_ms(),
        }
        with self._ledger.writing() as connection:
            dataset = connection.scalar(insert(EvalDataset).values(**row).returning(EvalDataset.id))
            rows = [
                {
                    "dataset": dataset,
                    "position": position,
                    "query_id": query.query_id,
                    "text": query.text,
                    "type": query.type,
                    "answers": list(query.answers),
                    "grades": dict(query.grades),
                    "provenance": dict(query.provenance),
                }
                for position, query in enumerate(queries)
            ]
            if rows:
                connection.execute(insert(EvalQuery), rows)
        return dataset_id

    def dataset(self, dataset_id: str, *, tenant: str) -> tuple[int, str, int] | None:
        """Return (row, name, number of questions) of a tenant's set; None alike when unknown and when foreign."""
        query = select(EvalDataset.id, EvalDataset.name).where(
            EvalDataset.tenant == tenant, EvalDataset.dataset_id == dataset_id
        )
        with self._ledger.reading() as connection:
            found = connection.execute(query).one_or_none()
            if found is None:
                return None
            count = select(func.count()).select_from(EvalQuery).where(EvalQuery.dataset == found.id)
            return found.id, found.name, connection.scalar(count) or 0

    def dataset_facts(self, row: int) -> tuple[str, str, Mapping[str, Any]]:
        """Return (id, name, provenance) of a set by its row."""
        query = select(EvalDataset.dataset_id, EvalDataset.name, EvalDataset.provenance).where(EvalDataset.id == row)
        with self._ledger.reading() as connection:
            found = connection.execute(query).one()
            return found.dataset_id, found.name, found.provenance

    def datasets(self, tenant: str, *, after: str, limit: int) -> tuple[list[DatasetSummary], int, str | None]:
        """Return a page of a tenant's sets, the newest first, how many there are, and the id to go on after."""
        table = EvalDataset
        counted = select(func.count()).where(EvalQuery.dataset == table.id).scalar_subquery()
        query = select(table.dataset_id, table.name, counted.label("questions"), table.provenance, table.created_ms)
        with self._ledger.reading() as connection:
            rows, total, next_after = _page(connection, query, table, table.dataset_id, (tenant, after, limit))
            return [DatasetSummary(**row._mapping) for row in rows], total, next_after

    def jobs(self, tenant: str, *, after: str, limit: int) -> tuple[list[StoredJob], int, str | None]:
        """Return a page of a tenant's jobs, the newest first, how many there are, and the id to go on after."""
        query = select(EvalJob.__table__)
        with self._ledger.reading() as connection:
            rows, total, next_after = _page(connection, query, EvalJob, EvalJob.job_id, (tenant, after, limit))
            return [_job(row) for row in rows], total, next_after

    def queries(self, dataset: int) -> list[StoredQuery]:
        """Return the questions of a set, in order."""
        query = select(EvalQuery.__table__).where(EvalQuery.dataset == dataset).order_by(EvalQuery.position)
        with self._ledger.reading() as connection:
            return [
                StoredQuery(row.query_id, row.text, tuple(row.answers), row.grades, row.type, row.provenance)
                for row in connection.execute(query)
            ]

    def all_questions(self, tenant: str) -> list[str]:
        """Return the texts of all questions in the tenant's sets, so that a new set can leave them out."""
        query = (
            select(EvalQuery.text)
            .join(EvalDataset, EvalDataset.id == EvalQuery.dataset)
            .where(EvalDataset.tenant == tenant)
            .order_by(EvalQuery.id)
        )
        with self._ledger.reading() as connection:
            return list(connection.scalars(query))

    def add_job(self, tenant: str, dataset: int, request: Mapping[str, Any], total: int) -> str | None:
        """Queue a job; return its id, None when the tenant has MOST_OPEN that are not over."""
        job_id = uuid.uuid4().hex
        row = {
            "tenant": tenant,
            "job_id": job_id,
            "dataset": dataset,
            "status": "queued",
            "request": dict(request),
            "total": total,
            "done": 0,
            "cancel": False,
            "error": "",
            "report": None,
            "created_ms": now_ms(),
            "started_ms": None,
            "finished_ms": None,
        }
        unfinished = select(func.count()).where(EvalJob.tenant == tenant, EvalJob.status.in_(OPEN))
        with self._ledger.writing() as connection:
            if (connection.scalar(unfinished) or 0) >= MOST_OPEN:
                return None
            connection.execute(insert(EvalJob), [row])
        return job_id

    def job(self, job_id: str, *, tenant: str) -> StoredJob | None:
        """Return a tenant's job; None alike when unknown and when foreign."""
        query = select(EvalJob.__table__).where(EvalJob.tenant == tenant, EvalJob.job_id == job_id)
        with self._ledger.reading() as connection:
            row = connection.execute(query).one_or_none()
            return _job(row) if row is not None else None

    def next_job(self) -> StoredJob | None:
        """Return the job to work on next: one that was cut short, else the oldest of the tenant whose turn it is.

        Tenants take turns: the one whose last job began longest ago comes first.
        """
        others = aliased(EvalJob)
        begun = select(func.max(others.started_ms)).where(others.tenant == EvalJob.tenant).scalar_subquery()
        turn = (EvalJob.status.desc(), func.coalesce(begun, 0), EvalJob.id)
        query = select(EvalJob.__table__).where(EvalJob.status.in_(OPEN)).order_by(*turn)
        with self._ledger.reading() as connection:
            row = connection.execute(query.limit(1)).one_or_none()
            return _job(row) if row is not None else None

    def cancel(self, job_id: str, *, tenant: str) -> bool:
        """Ask a job to stop; one that waits is over at once. False when the tenant has no such job."""
        mine = (EvalJob.tenant == tenant, EvalJob.job_id == job_id)
        with self._ledger.writing() as connection:
            connection.execute(update(EvalJob).where(*mine, EvalJob.status.in_(OPEN)).values(cancel=True))
            connection.execute(
                update(EvalJob)
                .where(*mine, EvalJob.status == "queued")
                .values(status="cancelled", finished_ms=now_ms())
            )
            return connection.scalar(select(EvalJob.id).where(*mine)) is not None

    def is_cancelled(self, row: int) -> bool:
        """Tell whether a job is to stop."""
        with self._ledger.reading() as connection:
            return bool(connection.scalar(select(EvalJob.cancel).where(EvalJob.id == row)))

    def start(self, row: int) -> None:
        """Note that a job is under way; the first start is kept."""
        values = {"status": "running", "started_ms": func.coalesce(EvalJob.started_ms, now_ms())}
        self._set(row, values)

    def finish(
        self,
        row: int,
        status: str,
        *,
        results: Mapping[str, Mapping[str, Any]] | None = None,
        report: Mapping[str, Any] | None = None,
        error: str = "",
    ) -> None:
        """End a job, with the metrics of each arm and the report, in one transaction."""
        with self._ledger.writing() as connection:
            for arm, metrics in (results or {}).items():
                connection.execute(insert(EvalResult), [{"job": row, "arm": arm, "metric_json": dict(metrics)}])
            values = {"status": status, "report": dict(report) if report else None, "error": error}
            connection.execute(update(EvalJob).where(EvalJob.id == row).values(**values, finished_ms=now_ms()))

    def _set(self, row: int, values: Mapping[str, Any]) -> None:
        with self._ledger.writing() as connection:
            connection.execute(update(EvalJob).where(EvalJob.id == row).values(**values))

    def set_total(self, row: int, total: int) -> None:
        """Change how many steps a job has."""
        self._set(row, {"total": total})

    def add_answer(self, row: int, arm: str, position: int, outcome: Mapping[str, Any]) -> None:
        """Keep what one arm gave for one question, and count it."""
        with self._ledger.writing() as connection:
            values = {"job": row, "arm": arm, "position": position, "outcome": dict(outcome)}
            connection.execute(insert(EvalAnswer), [values])
            done = select(func.count()).select_from(EvalAnswer).where(EvalAnswer.job == row).scalar_subquery()
            connection.execute(update(EvalJob).where(EvalJob.id == row).values(done=done))

    def answers(self, row: int) -> dict[tuple[str, int], Mapping[str, Any]]:
        """Return what is there so far, by (arm, position)."""
        query = select(EvalAnswer.__table__).where(EvalAnswer.job == row).order_by(EvalAnswer.arm, EvalAnswer.position)
        with self._ledger.reading() as connection:
            return {(found.arm, found.position): found.outcome for found in connection.execute(query)}

    def results(self, row: int) -> dict[str, Mapping[str, Any]]:
        """Return the metrics by arm."""
        query = select(EvalResult.arm, EvalResult.metric_json).where(EvalResult.job == row).order_by(EvalResult.id)
        with self._ledger.reading() as connection:
            return {row.arm: row.metric_json for row in connection.execute(query)}


def _page(
    connection: Connection,
    query: Select[Any],
    table: type[EvalDataset] | type[EvalJob],
    public_id: InstrumentedAttribute[str],
    wanted: tuple[str, str, int],
) -> tuple[Sequence[Row[Any]], int, str | None]:
    """Return a page of (tenant, id to go on after, number of rows), the newest first."""
    tenant, after, limit = wanted
    mine = table.tenant == tenant
    total = connection.scalar(select(func.count()).select_from(table).where(mine)) or 0
    query = query.where(mine).order_by(table.id.desc()).limit(limit + 1)
    if after:  # an id nobody knows ends the list
        query = query.where(table.id < select(table.id).where(mine, public_id == after).scalar_subquery())
    rows = connection.execute(query).all()
    return rows[:limit], total, getattr(rows[limit - 1], public_id.key) if len(rows) > limit else None


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(time.time() * 1000)


def _job(row: Row[Any]) -> StoredJob:
    names = ("tenant", "job_id", "dataset", "status", "request", "total", "done", "cancel", "error", "report")
    times = ("created_ms", "started_ms", "finished_ms")
    return StoredJob(row=row.id, **{name: getattr(row, name) for name in (*names, *times)})
