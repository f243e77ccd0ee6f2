"""Budgets, fusion and ontology of retrieval."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from theworld.settings.section import Section


class FusionSettings(Section):
    """How the channels' lists become one.

    The graph's weight counts times the share that its list earns on each question, the others' times the rest
    (`src/theworld/ranking/graph_share.py`).
    """

    method: Literal["minmax", "rrf"] = Field(default="minmax", description="By score over the list's range, or by rank")
    k: int = Field(default=60, ge=1, le=10_000, description="RRF constant; ranks count from 1")
    min_channels: int = Field(
        default=1,
        ge=1,
        le=3,
        description="Channels that must list a note; where no note is in so many, the most any note is in",
    )
    sparse_weight: float = Field(default=0.45, ge=0.0, le=100.0, description="Weight of the sparse channel")
    dense_weight: float = Field(default=0.55, ge=0.0, le=100.0, description="Weight of the dense channel")
    graph_weight: float = Field(default=1.0, ge=0.0, le=100.0, description="Weight of the graph channel")

    @model_validator(mode="after")
    def _some_channel_counts(self) -> Self:
        if not self.sparse_weight + self.dense_weight + self.graph_weight:
            raise ValueError("all three channel weights are 0, so nothing could be found; give one a weight above 0")
        return self


class RetrievalSettings(Section):
    """Budgets and depths of retrieval."""

    deadline_ms: int = Field(default=1200, ge=1, le=600_000, description="Budget for retrieval and reranking")
    channel_share: float = Field(
        default=0.75, gt=0, le=1, description="Share of it the channels may use; reranking gets what is left"
    )
    per_channel: int = Field(default=100, ge=1, le=10_000, description="Candidates asked of each channel")
    graph: bool = Field(default=True, description="Whether the graph channel runs")
    graph_depth: int = Field(default=50, ge=1, le=10_000, description="Of the graph channel's, how many enter fusion")
    top_k: int = Field(default=20, ge=1, le=1000, description="Candidates kept after reranking")
    fusion: FusionSettings = Field(default_factory=FusionSettings)


class OntologySettings(Section):
    """What an imported ontology adds to the graph channel; without one in the store nothing is done."""

    enabled: bool = Field(default=True, description="Ask the ontology, where the store has one")
    hops: int = Field(default=2, ge=0, le=6, description="Edges walked from what the question speaks of")
    decay: float = Field(default=0.7, gt=0.0, lt=1.0, description="What is kept of a path's strength at every hop")
    fan_out: int = Field(default=128, ge=1, le=100_000, description="Neighbours of a node that are followed")
    weight: float = Field(
        default=0.5,
        ge=0.0,
        le=100.0,
        description="Weight of its notes' scores beside the PageRank's, each over its best",
    )
    vectors: bool = Field(default=True, description="Recognise elements by meaning too, where the import made vectors")
    share: float = Field(default=0.5, gt=0.0, le=1.0, description="Share of the channel's time it may take")
