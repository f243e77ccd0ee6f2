"""Datasets, jobs, answers and results of evaluations, by tenant."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import Row, Select, func, insert, select, update
from sqlalchemy.orm import InstrumentedAttribute, aliased

from theworld.stores.ledger.database import Database, insert_rows
from theworld.stores.ledger.service_tables import EvalAnswer, EvalDataset, EvalJob, EvalQuery, EvalResult

OPEN = ("queued", "running")
MOST_OPEN = 16
"""Jobs of a tenant that may wait or run; a table would grow without end, and a job may take an hour."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question with what is known to be right about it."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    """Accepted answers, empty where the set has none."""
    type: str = ""
    """The set's own label of the kind of question, which results are also given by."""
    grades: Mapping[str, int] = field(default_factory=dict)
    """Gold documents and their grades, all above 0."""
    provenance: Mapping[str, Any] = field(default_factory=dict)


Plain = Mapping[str, Any]
_NONE: Mapping[str, Any] = {}
Job = Row[Any]
"""A row of the table `eval_job`, with `dataset_id` and `name` of its set."""
_COUNTED = select(func.count()).where(EvalQuery.dataset == EvalDataset.id).scalar_subquery().label("questions")
_JOB = select(EvalJob.__table__, EvalDataset.dataset_id, EvalDataset.name).join(
    EvalDataset, EvalDataset.id == EvalJob.dataset
)


@dataclass(eq=False)
class Evaluations:
    """Evaluation sets and jobs on record."""

    _ledger: Database

    def add_dataset(self, tenant: str, name: str, queries: Sequence[Query], provenance: Mapping[str, Any]) -> str:
        """Keep a question set; return its id."""
        dataset_id = uuid.uuid4().hex
        row = {"tenant": tenant, "dataset_id": dataset_id, "name": name, "provenance": dict(provenance)}
        with self._ledger.writing(()) as connection:
            statement = insert(EvalDataset).values(**row, created_ms=now_ms()).returning(EvalDataset.id)
            dataset = connection.scalar(statement)
            same = ("text", "answers", "type", "grades", "provenance")
            rows = [{"query_id": query.id, **{name: getattr(query, name) for name in same}} for query in queries]
            insert_rows(connection, EvalQuery, [{"dataset": dataset, "position": i, **r} for i, r in enumerate(rows)])
        return dataset_id

    def dataset(self, dataset_id: str, *, tenant: str) -> Row[int, str, int] | None:
        """Return (row, name, number of questions) of a tenant's set; None alike when unknown and when foreign."""
        query = select(EvalDataset.id, EvalDataset.name, _COUNTED)
        query = query.where(EvalDataset.tenant == tenant, EvalDataset.dataset_id == dataset_id)
        return cast("Row[int, str, int] | None", self._ledger.row(query))

    def datasets(self, tenant: str, *, after: str, limit: int) -> tuple[Sequence[Row[Any]], int, str | None]:
        """Return a page of a tenant's sets, the newest first, how many there are, and the id to go on after.

        Of each `dataset_id`, `name`, `questions` (how many), `provenance` and `created_ms`.
        """
        table = EvalDataset
        query = select(table.dataset_id, table.name, _COUNTED, table.provenance, table.created_ms)
        return self._page(query, table.dataset_id, tenant, after, limit)

    def jobs(self, tenant: str, *, after: str, limit: int) -> tuple[Sequence[Job], int, str | None]:
        """Return a page of a tenant's jobs, the newest first, how many there are, and the id to go on after."""
        return self._page(_JOB, EvalJob.job_id, tenant, after, limit)

    def _page(
        self, query: Select[Any], public_id: InstrumentedAttribute[str], tenant: str, after: str, limit: int
    ) -> tuple[Sequence[Row[Any]], int, str | None]:
        """Return at most `limit` rows after an id, the newest first; an id nobody knows ends the list."""
        table = public_id.class_
        mine = table.tenant == tenant
        query = query.where(mine).order_by(table.id.desc()).limit(limit + 1)
        if after:
            query = query.where(table.id < select(table.id).where(mine, public_id == after).scalar_subquery())
        with self._ledger.reading() as connection:
            total = connection.scalar(select(func.count()).select_from(table).where(mine)) or 0
            rows = connection.execute(query).all()
        return rows[:limit], total, getattr(rows[limit - 1], public_id.key) if len(rows) > limit else None

    def queries(self, dataset: int) -> list[Query]:
        """Return the questions of a set, in order."""
        table = EvalQuery
        query = select(table.query_id, table.text, table.answers, table.type, table.grades, table.provenance)
        rows = self._ledger.rows(query.where(table.dataset == dataset).order_by(table.position))
        return [Query(row[0], row[1], tuple(row[2]), *row[3:]) for row in rows]

    def all_questions(self, tenant: str) -> list[str]:
        """Return the texts of all questions in the tenant's sets, so that a new set can leave them out."""
        query = select(EvalQuery.text).join(EvalDataset, EvalDataset.id == EvalQuery.dataset)
        return [row.text for row in self._ledger.rows(query.where(EvalDataset.tenant == tenant).order_by(EvalQuery.id))]

    def add_job(self, tenant: str, dataset: int, request: Mapping[str, Any], total: int) -> str | None:
        """Queue a job; return its id, None when the tenant has MOST_OPEN that are not over."""
        job_id = uuid.uuid4().hex
        row = {"tenant": tenant, "job_id": job_id, "dataset": dataset, "request": dict(request), "total": total}
        fresh = {"status": "queued", "done": 0, "cancel": False, "error": "", "created_ms": now_ms()}
        unfinished = select(func.count()).where(EvalJob.tenant == tenant, EvalJob.status.in_(OPEN))
        with self._ledger.writing(()) as connection:
            if (connection.scalar(unfinished) or 0) >= MOST_OPEN:
                return None
            connection.execute(insert(EvalJob).values(**row, **fresh))
        return job_id

    def job(self, job_id: str, *, tenant: str) -> Job | None:
        """Return a tenant's job; None alike when unknown and when foreign."""
        return cast("Job | None", self._ledger.row(_JOB.where(EvalJob.tenant == tenant, EvalJob.job_id == job_id)))

    def next_job(self) -> Job | None:
        """Return the job to work on next: one that was cut short, else the oldest of the tenant whose turn it is.

        Tenants take turns: the one whose last job began longest ago comes first.
        """
        others = aliased(EvalJob)
        begun = select(func.max(others.started_ms)).where(others.tenant == EvalJob.tenant).scalar_subquery()
        turn = (EvalJob.status.desc(), func.coalesce(begun, 0), EvalJob.id)
        return cast("Job | None", self._ledger.row(_JOB.where(EvalJob.status.in_(OPEN)).order_by(*turn).limit(1)))

    def cancel(self, job_id: str, *, tenant: str) -> bool:
        """Ask a job to stop; one that waits is over at once. False when the tenant has no such job."""
        mine = (EvalJob.tenant == tenant, EvalJob.job_id == job_id)
        over = {"status": "cancelled", "finished_ms": now_ms()}
        self._ledger.execute(
            update(EvalJob).where(*mine, EvalJob.status.in_(OPEN)).values(cancel=True),
            update(EvalJob).where(*mine, EvalJob.status == "queued").values(**over),
        )
        return self._ledger.glance(select(EvalJob.id).where(*mine)) is not None

    def is_cancelled(self, row: int) -> bool:
        """Return whether a job is to stop."""
        return bool(self._ledger.glance(select(EvalJob.cancel).where(EvalJob.id == row)))

    def start(self, row: int) -> None:
        """Note that a job is under way; the first start is kept."""
        values = {"status": "running", "started_ms": func.coalesce(EvalJob.started_ms, now_ms())}
        self._ledger.execute(update(EvalJob).where(EvalJob.id == row).values(**values))

    def finish(
        self, row: int, status: str, *, results: Mapping[str, Plain] = _NONE, report: Plain = _NONE, error: str = ""
    ) -> None:
        """End a job, with the metrics of each arm and the report, in one transaction."""
        values = {"status": status, "report": dict(report) or None, "error": error, "finished_ms": now_ms()}
        kept = [insert(EvalResult).values(job=row, arm=arm, metric_json=dict(some)) for arm, some in results.items()]
        self._ledger.execute(update(EvalJob).where(EvalJob.id == row).values(**values), *kept)

    def set_total(self, row: int, total: int) -> None:
        """Change how many steps a job has."""
        self._ledger.execute(update(EvalJob).where(EvalJob.id == row).values(total=total))

    def add_answer(self, row: int, arm: str, position: int, outcome: Mapping[str, Any]) -> None:
        """Keep what one arm gave for one question, and count it."""
        done = select(func.count()).select_from(EvalAnswer).where(EvalAnswer.job == row).scalar_subquery()
        self._ledger.execute(
            insert(EvalAnswer).values(job=row, arm=arm, position=position, outcome=dict(outcome)),
            update(EvalJob).where(EvalJob.id == row).values(done=done),
        )

    def answers(self, row: int) -> dict[tuple[str, int], Mapping[str, Any]]:
        """Return what is there so far, by (arm, position)."""
        query = select(EvalAnswer.arm, EvalAnswer.position, EvalAnswer.outcome).where(EvalAnswer.job == row)
        rows = self._ledger.rows(query.order_by(EvalAnswer.arm, EvalAnswer.position))
        return {(arm, position): outcome for arm, position, outcome in rows}

    def results(self, row: int) -> dict[str, Mapping[str, Any]]:
        """Return the metrics by arm."""
        query = select(EvalResult.arm, EvalResult.metric_json).where(EvalResult.job == row).order_by(EvalResult.id)
        return dict(self._ledger.rows(query))


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(time.time() * 1000)
