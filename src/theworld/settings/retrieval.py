"""Routing, retrieval, reranking and answering."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from theworld.settings.sections import Section


class RouterSettings(Section):
    """How questions are routed."""

    enabled: bool = Field(default=True, description="Off: every way is tried for every question")
    min_confidence: float = Field(default=0.45, ge=0.0, le=1.0, description="Less sure choices are widened to hybrid")


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


class RerankSettings(Section):
    """Which reranker, and how deep it goes."""

    kind: Literal["evidence-set", "cross-encoder", "remote", "none"] = Field(
        default="evidence-set", description="Reranker"
    )
    pool: int = Field(default=100, ge=1, le=1000, description="Candidates it looks at")
    model: str | None = Field(
        default=None, description="cross-encoder: onnx:DIR | fastembed:NAME | fastembed:NAME=DIR; remote: model name"
    )
    base_url: str | None = Field(default=None, description="remote: server, such as http://localhost:8080")
    api_key: SecretStr | None = Field(default=None, description="remote: key, sent as bearer token")
    protocol: Literal["cohere", "tei"] = Field(
        default="cohere", description="remote: Cohere's /v1/rerank (vLLM, Jina, llama.cpp), or TEI's /rerank"
    )
    logits: bool = Field(default=False, description="remote: the server sends raw scores (llama.cpp), not [0, 1]")
    temperature: float = Field(default=1.0, gt=0, le=100, description="Raw scores become sigmoid(score / temperature)")
    batch_size: int = Field(
        default=0, ge=0, le=1000, description="Notes between two looks at the clock; 0: 8, and 32 a request to a server"
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        engine, _, named = (self.model or "").partition(":")
        if self.kind == "cross-encoder" and not (engine in {"onnx", "fastembed"} and named):
            raise ValueError("kind cross-encoder needs rerank.model: onnx:DIR or fastembed:NAME")
        if self.kind == "remote":
            self._check_server()
        unused = [name for name in _USED_BY if getattr(self, name) is not None and self.kind not in _USED_BY[name]]
        if unused:
            only = " or ".join(_USED_BY[unused[0]])
            raise ValueError(f"rerank.{unused[0]} is for kind {only}, but kind is {self.kind}; remove one or the other")
        return self

    def _check_server(self) -> None:
        scheme, _, rest = (self.base_url or "").partition("://")
        if scheme not in {"http", "https"} or not rest:
            raise ValueError("kind remote needs rerank.base_url, such as http://localhost:8080")
        if "@" in rest.partition("/")[0]:
            raise ValueError("rerank.base_url must hold no password; put a key into rerank.api_key")
        if self.protocol == "cohere" and not self.model:
            raise ValueError("kind remote needs rerank.model, the name the server knows the model by")


_USED_BY = {"model": ("cross-encoder", "remote"), "base_url": ("remote",), "api_key": ("remote",)}


class AnswerSettings(Section):
    """When an answer is confident enough to be given."""

    min_confidence: float = Field(
        default=0.7, ge=0.0, le=1.0, description="Least probability of a short answer; below, passages stand alone"
    )
    min_evidence: float = Field(
        default=0.15, ge=0.0, le=1.0, description="Least probability that passages hold what is asked, else no answer"
    )
    passage_characters_en: int = Field(
        default=1600, ge=200, le=100_000, description="Longest answer of English passages, in characters"
    )
    passage_characters_zh: int = Field(default=700, ge=100, le=100_000, description="The same for Chinese passages")
    evidence_notes: int = Field(default=5, ge=1, le=50, description="Notes shown to answerers")
    evidence_tokens: int = Field(
        default=3000, ge=100, le=1_000_000, description="Of these, tokens shown to a language model (estimated)"
    )


class TokenPrice(Section):
    """What a model's tokens cost."""

    input: float = Field(ge=0, le=1e6, description="Price of a million tokens sent")
    output: float = Field(ge=0, le=1e6, description="Price of a million tokens received")
    currency: str = Field(default="USD", pattern="^[A-Z]{3}$", description="ISO 4217 code")


class ModelSettings(Section):
    """The optional language model: any OpenAI-compatible endpoint."""

    name: str | None = Field(default=None, description="Model name; none means no language model is used")
    base_url: str | None = Field(default=None, description="Endpoint; default OPENAI_BASE_URL")
    api_key: SecretStr | None = Field(default=None, description="Key; default OPENAI_API_KEY")
    timeout_s: float = Field(default=30.0, gt=0, le=600, description="Longest wait for one call")
    max_tokens: int = Field(default=512, ge=1, le=32_000, description="Longest answer")
    temperature: float = Field(default=0.0, ge=0.0, le=2.0, description="Sampling temperature")
    retries: int = Field(default=2, ge=0, le=10, description="Retries of a failed call")
    prices: dict[str, TokenPrice] = Field(
        default={},
        description='By model name, per million tokens: {"NAME": {"input": 0.15, "output": 0.6, "currency": "USD"}}',
    )
