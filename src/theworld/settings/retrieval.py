"""Routing, retrieval, reranking and answering."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from theworld.settings.sections import Section


class RouterSettings(Section):
    """How questions are routed."""

    enabled: bool = Field(default=True, description="Off: every way is tried for every question")


class FusionSettings(Section):
    """How the channels' lists become one."""

    method: Literal["minmax", "rrf"] = Field(default="minmax", description="By score over the list's range, or by rank")


class RetrievalSettings(Section):
    """Budgets and depths of retrieval."""

    deadline_ms: int = Field(default=1200, ge=1, le=600_000, description="Budget for retrieval and reranking")
    per_channel: int = Field(default=100, ge=1, le=10_000, description="Candidates asked of each channel")
    graph: bool = Field(default=True, description="Whether the graph and ontology channels run")
    top_k: int = Field(default=20, ge=1, le=1000, description="Candidates kept after reranking")
    fusion: FusionSettings = Field(default_factory=FusionSettings)

    @property
    def graph_depth(self) -> int:
        """How many of the graph channel's candidates enter fusion: the tail of its walk is what many notes share."""
        return max(1, self.per_channel // 2)


class OntologySettings(Section):
    """The ontology channel; without an ontology in the store nothing is done."""

    enabled: bool = Field(default=True, description="Ask the ontology, where the store has one")
    hops: int = Field(default=2, ge=0, le=6, description="Edges walked from what the question speaks of")


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
    protocol: Literal["cohere", "llama.cpp", "tei"] = Field(
        default="cohere",
        description="remote: Cohere's /v1/rerank (vLLM, Jina), the same with raw scores (llama.cpp), or TEI's /rerank",
    )
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
        if self.protocol != "tei" and not self.model:
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
    evidence_tokens: int = Field(
        default=3000, ge=100, le=1_000_000, description="Tokens of notes shown to a language model (estimated)"
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
    prices: dict[str, TokenPrice] = Field(
        default={},
        description='By model name, per million tokens: {"NAME": {"input": 0.15, "output": 0.6, "currency": "USD"}}',
    )
