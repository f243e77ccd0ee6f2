"""What was decided about a question, what every stage did and cost, what fell back, and what a database said."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from theworld.state.candidates import Channel, PathStep, Value

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


class Degradation(Value):
    """A stage that could not do its work as planned, and what was done instead."""

    stage: str = Field(description="The node concerned")
    reason: str = Field(min_length=1, description="What went wrong and what was done instead; never empty")
    elapsed_ms: float = Field(default=0.0, ge=0.0, description="Time spent before falling back")


class StageTrace(Value):
    """One execution of one node."""

    stage: str = Field(description="The node")
    elapsed_ms: float = Field(ge=0.0, description="Wall time in the node")
    counts: dict[str, int] = Field(default_factory=dict, description="How many of what it handled")
    notes: tuple[str, ...] = Field(default=(), description="What it decided, in words")


class ModelUsage(Value):
    """Calls of a language model and what they consumed."""

    calls: int = Field(default=0, ge=0, description="Number of calls, failed ones included")
    prompt_tokens: int = Field(default=0, ge=0, description="Tokens sent")
    completion_tokens: int = Field(default=0, ge=0, description="Tokens received")
    estimated: bool = Field(default=False, description="True when a server did not report its tokens")
    cost: dict[str, float] = Field(default_factory=dict, description="Cost by currency, as far as prices are known")
    unpriced_calls: int = Field(default=0, ge=0, description="Answered calls of models without a price: not in `cost`")

    def __add__(self, other: ModelUsage) -> ModelUsage:
        """Return the sum of both."""
        return ModelUsage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            estimated=self.estimated or other.estimated,
            cost={
                currency: self.cost.get(currency, 0.0) + other.cost.get(currency, 0.0)
                for currency in dict.fromkeys([*self.cost, *other.cost])
            },
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
        )


Cell = str | int | float | bool | None
"""One value of a table."""

TableShape = Literal["figure", "groups", "top", "trend", "change", "volatility", "list", "latest", "share"]
"""What kind of result a table is."""


class TableColumn(Value):
    """One column of a result."""

    label: str = Field(description="Its heading, in the language of the question")
    unit: str = Field(default="", description="Unit of its numbers, empty for names and counts")


class QueryTable(Value):
    """Rows read from a database, with the statement that read them."""

    title: str = Field(description="What is shown, in the language of the question")
    shape: TableShape = Field(default="list", description="What kind of result it is")
    columns: tuple[TableColumn, ...] = Field(default=(), description="The columns, in order")
    rows: tuple[tuple[Cell, ...], ...] = Field(default=(), description="The rows, in order")
    truncated: bool = Field(default=False, description="True when there were more rows than are kept")
    conditions: tuple[str, ...] = Field(default=(), description="What narrowed the rows down, in words")
    reading: tuple[str, ...] = Field(default=(), description="How words with more than one sense were taken")
    paths: tuple[tuple[PathStep, ...], ...] = Field(
        default=(), description="Over which relations its conditions and groups were reached, each a way of classes"
    )
    sql: str = Field(default="", description="The statement, as it was run")
    parameters: dict[str, Cell] = Field(default_factory=dict, description="Its parameters")
    source: str = Field(default="", description="The database, without password")
    elapsed_ms: float = Field(default=0.0, ge=0.0, description="Time the statement took")
