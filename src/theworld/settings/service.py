"""The HTTP service."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from theworld.settings.section import Section


class ServiceSettings(Section):
    """The HTTP service: where it listens, how much it takes at once, and what it keeps on record."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to bind; keys are needed off loopback")
    port: int = Field(default=8321, ge=0, le=65_535, description="Port; 0 takes a free one")
    workers: int = Field(default=1, ge=1, le=64, description="Processes that serve")
    keys: Literal["auto", "required"] = Field(
        default="auto", description="auto: no API key needed while bound to loopback; required: always"
    )
    running: int = Field(default=4, ge=1, le=256, description="Requests a process works on at the same time")
    waiting: int = Field(default=128, ge=0, le=10_000, description="Requests that may wait; further ones get 429")
    max_body_bytes: int = Field(default=8_000_000, ge=1000, le=1_000_000_000, description="Largest body; else 413")
    max_documents: int = Field(default=500, ge=1, le=100_000, description="Documents taken in one request")
    shutdown_s: float = Field(default=30.0, ge=0, le=600, description="Longest wait for what runs, when stopping")
    log: bool = Field(default=True, description="Keep every request on record, for explain, replay and evaluation")
    log_queue: int = Field(default=2000, ge=1, le=1_000_000, description="Records that may wait to be written")
    retention_days: float = Field(default=30.0, gt=0, le=3650, description="Age at which records are deleted")
    ab_share: float = Field(default=0.0, ge=0.0, le=1.0, description="Share of requests also run with strategy B")
    ab_strategy: str = Field(
        default="{}", description='Strategy B as JSON: {"name": ..., "rerank": false, "settings": {"retrieval": ...}}'
    )
    job_priority: Literal["idle", "normal"] = Field(
        default="idle", description="Of evaluation jobs; idle: they run only while nobody else wants the processor"
    )
    trace_text: bool = Field(default=False, description="Allow question and answer text in OpenTelemetry spans")
