"""Tables of the service: requests on record, feedback, evaluation and API keys; beside the ledger's own, same metadata.

Times are milliseconds since 1970.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from theworld.stores.ledger.models import Long, Numbered, row_of


class RequestLog(Numbered):
    """One request that the service answered, or one run of strategy B beside it."""

    __tablename__ = "retrieval_request_log"
    __table_args__ = (
        UniqueConstraint("tenant", "request_id"),
        Index("ix_request_log_tenant_created", "tenant", "created_ms"),
        Index("ix_request_log_created", "created_ms"),
    )

    tenant: Mapped[str]
    request_id: Mapped[str]
    trace_id: Mapped[str]
    endpoint: Mapped[str]
    """search | route | rerank | ask."""
    arm: Mapped[str]
    """`main`, or the name of the strategy run beside it."""
    parent: Mapped[str | None] = mapped_column(index=True)
    """Request id of the main run, for another arm."""
    created_ms: Mapped[Long]
    elapsed_ms: Mapped[float]
    status: Mapped[str]
    """ok | error | cancelled."""
    code: Mapped[int]
    """Code of the reply's envelope, 0 for success and where nobody waited for a reply any more."""
    question: Mapped[str]
    query: Mapped[str]
    """The stand-alone query."""
    language: Mapped[str]
    kind: Mapped[str]
    """entity | extractive | generated | none | clarify; empty where no answer was asked for."""
    confidence: Mapped[float]
    store_sequence: Mapped[Long]
    settings_hash: Mapped[str]
    version: Mapped[str]
    digest: Mapped[str]
    """Hash of everything that the same request on the same store gives again."""
    request: Mapped[dict[str, Any]]
    """Input and context, as they were run."""
    outcome: Mapped[dict[str, Any]]
    """What the run left in the state, lists of other tables left out."""


class RetrievalCandidate(Numbered):
    """Where one channel put one note."""

    request: Mapped[int] = mapped_column(row_of("retrieval_request_log"), index=True)
    source: Mapped[str]
    """The channel: sparse, dense, graph."""
    note_id: Mapped[str]
    rank: Mapped[int]
    score: Mapped[float]


class RerankScore(Numbered):
    """One candidate of the final list: what fusion gave it, and the reranker."""

    request: Mapped[int] = mapped_column(row_of("retrieval_request_log"), index=True)
    position: Mapped[int]
    """Place in the final list, from 1."""
    note_id: Mapped[str]
    document_id: Mapped[str]
    title: Mapped[str]
    fused_rank: Mapped[int | None]
    fused_score: Mapped[float | None]
    rank: Mapped[int | None]
    """Rank by the reranker, empty when it was not reranked."""
    score: Mapped[float | None]
    final_score: Mapped[float]
    covered: Mapped[float | None]
    hop: Mapped[int]
    bridge: Mapped[str | None]
    model_version: Mapped[str]
    """Name and version of the reranker, empty when none ran."""


class RouterDecisionLog(Numbered):
    """What the router decided, and why."""

    request: Mapped[int] = mapped_column(row_of("retrieval_request_log"), index=True, unique=True)
    strategy: Mapped[str]
    """Name and version of the routing strategy."""
    path: Mapped[str]
    intent: Mapped[str]
    rerank: Mapped[bool]
    confidence: Mapped[float]
    decision: Mapped[dict[str, Any]]
    """The whole decision, so that fields to come are kept too."""


class Feedback(Numbered):
    """What a user said of one answer."""

    __table_args__ = (Index("ix_feedback_request", "tenant", "request_id"),)

    tenant: Mapped[str]
    request_id: Mapped[str]
    verdict: Mapped[str]
    """good | bad."""
    answers: Mapped[list[str]]
    documents: Mapped[list[str]]
    comment: Mapped[str]
    created_ms: Mapped[Long]


class EvalDataset(Numbered):
    """A question set over a tenant's documents."""

    __table_args__ = (UniqueConstraint("tenant", "dataset_id"),)

    tenant: Mapped[str]
    dataset_id: Mapped[str]
    name: Mapped[str]
    provenance: Mapped[dict[str, Any]]
    """Where it comes from: uploaded, or made from the logs and how."""
    created_ms: Mapped[Long]


class EvalQuery(Numbered):
    """One question of a set."""

    __table_args__ = (UniqueConstraint("dataset", "position"),)

    dataset: Mapped[int] = mapped_column(row_of("eval_dataset"))
    position: Mapped[int]
    query_id: Mapped[str]
    text: Mapped[str]
    type: Mapped[str]
    answers: Mapped[list[str]]
    grades: Mapped[dict[str, int]]
    provenance: Mapped[dict[str, Any]]


class EvalJob(Numbered):
    """One evaluation, asked for, under way or done."""

    __table_args__ = (UniqueConstraint("tenant", "job_id"), Index("ix_eval_job_status", "status", "created_ms"))

    tenant: Mapped[str]
    job_id: Mapped[str]
    dataset: Mapped[int] = mapped_column(row_of("eval_dataset"), index=True)
    status: Mapped[str]
    """queued | running | done | cancelled | failed."""
    request: Mapped[dict[str, Any]]
    """Strategies and options."""
    total: Mapped[int]
    """Steps: questions times strategies, and the failures to explain once they are known."""
    done: Mapped[int]
    cancel: Mapped[bool]
    error: Mapped[str]
    report: Mapped[dict[str, Any] | None]
    created_ms: Mapped[Long]
    started_ms: Mapped[Long | None]
    finished_ms: Mapped[Long | None]


class EvalAnswer(Numbered):
    """What one strategy gave for one question: written as it comes, so that a job goes on where it was cut short."""

    __table_args__ = (UniqueConstraint("job", "arm", "position"),)

    job: Mapped[int] = mapped_column(row_of("eval_job"))
    arm: Mapped[str]
    position: Mapped[int]
    outcome: Mapped[dict[str, Any]]


class EvalResult(Numbered):
    """The metrics of one strategy in one job."""

    __table_args__ = (UniqueConstraint("job", "arm"),)

    job: Mapped[int] = mapped_column(row_of("eval_job"))
    arm: Mapped[str]
    metric_json: Mapped[dict[str, Any]]


class ApiKey(Numbered):
    """A key that callers show; only its hash is kept."""

    key_id: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    hash: Mapped[str]
    """SHA-256 of the token's 256 random bits, in hex."""
    tenants: Mapped[list[str]]
    scopes: Mapped[list[str]]
    created_ms: Mapped[Long]
    expires_ms: Mapped[Long | None]
    revoked_ms: Mapped[Long | None]
