"""The router's decision."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from theworld.state.candidates import Channel, Value

RoutePath = Literal["sql", "sparse", "dense", "graph", "ontology", "hybrid", "none"]
"""Which way a question goes; `none` for small talk, and where the caller allows no channel."""

Intent = Literal["statistics", "detail", "relation", "question", "smalltalk"]
"""What the question wants."""


class ChannelPlan(Value):
    """How much one channel contributes."""

    top_k: int = Field(default=100, ge=1, le=10_000, description="Candidates asked of the channel")
    weight: float = Field(default=1.0, ge=0.0, description="Weight of the channel in fusion")


class RouteDecision(Value):
    """Which channels run, how much each counts, and why."""

    path: RoutePath = Field(default="hybrid", description="The chosen path")
    intent: Intent = Field(default="question", description="The question's intent")
    channels: dict[Channel, ChannelPlan] = Field(default_factory=dict, description="The channels that run")
    database: bool = Field(default=False, description="Whether the database is asked first")
    rerank: bool = Field(default=True, description="Whether candidates are reranked")
    model: bool = Field(default=True, description="Whether a language model may be called")
    confidence: float = Field(default=1.0, ge=0.0, le=1.0, description="Confidence in the path")
    reasons: tuple[str, ...] = Field(default=(), description="What decided, feature by feature")
    strategy: str = Field(default="rules-v1", description="Name and version of the strategy that decided")
