"""What a failed call of a language model consumed."""

from __future__ import annotations

from theworld.errors import ModelError
from theworld.state import ModelUsage


def usage_of(error: ModelError) -> ModelUsage:
    """Return the calls, tokens and cost up to the failure; the calls alone where the model did not count."""
    return error.usage if isinstance(error.usage, ModelUsage) else ModelUsage(calls=error.calls)


def less_usage(after: ModelUsage, before: ModelUsage) -> ModelUsage:
    """Return what was used between two readings of a sum."""
    return ModelUsage(
        calls=after.calls - before.calls,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        completion_tokens=after.completion_tokens - before.completion_tokens,
        estimated=after.estimated,
        cost={
            currency: amount - before.cost.get(currency, 0.0)
            for currency, amount in after.cost.items()
            if amount != before.cost.get(currency, 0.0)
        },
        unpriced_calls=after.unpriced_calls - before.unpriced_calls,
    )
