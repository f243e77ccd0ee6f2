"""When an answer is confident enough, and the optional language model."""

from __future__ import annotations

from pydantic import Field, SecretStr

from theworld.settings.section import Section


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
