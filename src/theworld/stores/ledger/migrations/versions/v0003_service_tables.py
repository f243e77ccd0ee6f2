"""The tables of the service in every ledger; until then they were made when the service first opened one."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def _text(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _integer(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=nullable)


def _long(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.JSON(), nullable=nullable)


def _double(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Double(), nullable=nullable)


def _boolean(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean(), nullable=nullable)


def _reference(column: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{table}.id"], ondelete="CASCADE")


def upgrade() -> None:
    """Make the tables that are not there yet (ledgers of version 2 are all SQLite files)."""
    op.create_table(
        "api_key",
        _integer("id"),
        _text("key_id"),
        _text("name"),
        _text("hash"),
        _json("tenants"),
        _json("scopes"),
        _long("created_ms"),
        _long("expires_ms", nullable=True),
        _long("revoked_ms", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key_id"),
        if_not_exists=True,
    )
    op.create_table(
        "eval_dataset",
        _integer("id"),
        _text("tenant"),
        _text("dataset_id"),
        _text("name"),
        _json("provenance"),
        _long("created_ms"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "dataset_id"),
        if_not_exists=True,
    )
    op.create_table(
        "feedback",
        _integer("id"),
        _text("tenant"),
        _text("request_id"),
        _text("verdict"),
        _json("answers"),
        _json("documents"),
        _text("comment"),
        _long("created_ms"),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_index("ix_feedback_request", "feedback", ["tenant", "request_id"], unique=False, if_not_exists=True)
    op.create_table(
        "retrieval_request_log",
        _integer("id"),
        _text("tenant"),
        _text("request_id"),
        _text("trace_id"),
        _text("endpoint"),
        _text("arm"),
        _text("parent", nullable=True),
        _long("created_ms"),
        _double("elapsed_ms"),
        _text("status"),
        _integer("code"),
        _text("question"),
        _text("query"),
        _text("language"),
        _text("kind"),
        _double("confidence"),
        _long("store_sequence"),
        _text("settings_hash"),
        _text("version"),
        _text("digest"),
        _json("request"),
        _json("outcome"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "request_id"),
        if_not_exists=True,
    )
    op.create_index("ix_request_log_created", "retrieval_request_log", ["created_ms"], unique=False, if_not_exists=True)
    op.create_index(
        "ix_request_log_tenant_created",
        "retrieval_request_log",
        ["tenant", "created_ms"],
        unique=False,
        if_not_exists=True,
    )
    op.create_index(
        "ix_retrieval_request_log_parent", "retrieval_request_log", ["parent"], unique=False, if_not_exists=True
    )
    op.create_table(
        "eval_job",
        _integer("id"),
        _text("tenant"),
        _text("job_id"),
        _integer("dataset"),
        _text("status"),
        _json("request"),
        _integer("total"),
        _integer("done"),
        _boolean("cancel"),
        _text("error"),
        _json("report", nullable=True),
        _long("created_ms"),
        _long("started_ms", nullable=True),
        _long("finished_ms", nullable=True),
        _reference("dataset", "eval_dataset"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "job_id"),
        if_not_exists=True,
    )
    op.create_index("ix_eval_job_dataset", "eval_job", ["dataset"], unique=False, if_not_exists=True)
    op.create_index("ix_eval_job_status", "eval_job", ["status", "created_ms"], unique=False, if_not_exists=True)
    op.create_table(
        "eval_query",
        _integer("id"),
        _integer("dataset"),
        _integer("position"),
        _text("query_id"),
        _text("text"),
        _text("type"),
        _json("answers"),
        _json("grades"),
        _json("provenance"),
        _reference("dataset", "eval_dataset"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dataset", "position"),
        if_not_exists=True,
    )
    op.create_table(
        "rerank_score",
        _integer("id"),
        _integer("request"),
        _integer("position"),
        _text("note_id"),
        _text("document_id"),
        _text("title"),
        _integer("fused_rank", nullable=True),
        _double("fused_score", nullable=True),
        _integer("rank", nullable=True),
        _double("score", nullable=True),
        _double("final_score"),
        _double("covered", nullable=True),
        _integer("hop"),
        _text("bridge", nullable=True),
        _text("model_version"),
        _reference("request", "retrieval_request_log"),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_index("ix_rerank_score_request", "rerank_score", ["request"], unique=False, if_not_exists=True)
    op.create_table(
        "retrieval_candidate",
        _integer("id"),
        _integer("request"),
        _text("source"),
        _text("note_id"),
        _integer("rank"),
        _double("score"),
        _reference("request", "retrieval_request_log"),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_retrieval_candidate_request", "retrieval_candidate", ["request"], unique=False, if_not_exists=True
    )
    op.create_table(
        "router_decision_log",
        _integer("id"),
        _integer("request"),
        _text("strategy"),
        _text("path"),
        _text("intent"),
        _boolean("rerank"),
        _double("confidence"),
        _json("decision"),
        _reference("request", "retrieval_request_log"),
        sa.PrimaryKeyConstraint("id"),
        if_not_exists=True,
    )
    op.create_index(
        "ix_router_decision_log_request", "router_decision_log", ["request"], unique=True, if_not_exists=True
    )
    op.create_table(
        "eval_answer",
        _integer("id"),
        _integer("job"),
        _text("arm"),
        _integer("position"),
        _json("outcome"),
        _reference("job", "eval_job"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job", "arm", "position"),
        if_not_exists=True,
    )
    op.create_table(
        "eval_result",
        _integer("id"),
        _integer("job"),
        _text("arm"),
        _json("metric_json"),
        _reference("job", "eval_job"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job", "arm"),
        if_not_exists=True,
    )
