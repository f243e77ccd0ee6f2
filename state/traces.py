"""What every stage did, what it cost, and what fell back."""

from __future__ import annotations

from pydantic import Field

from theworld.state.candidates import Value


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
