"""What a model must offer to be used here: small protocols, so that tests inject and users replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from theworld.errors import ModelError
from theworld.state import Mention, ModelUsage

FloatArray = NDArray[np.float32]
Int8Array = NDArray[np.int8]
IntArray = NDArray[np.int32]


def unit(vector: FloatArray) -> FloatArray:
    """Return the vector at length 1 as float32; a zero vector stays zero. Shape (n,)."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The token vectors of one text, for late interaction."""

    ids: IntArray
    """Vocabulary ids, at least 0, shape (n,); special tokens, punctuation and function words of a query left out."""
    vectors: Int8Array
    """Unit vectors times 127, shape (n, dimension), int8."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What an embedder makes of one text."""

    vector: FloatArray
    """Unit vector, shape (dimension,), float32."""
    tokens: TokenVectors | None = None
    """Token vectors, None where the model gives none."""


class Embedder(Protocol):
    """Text to vectors. Thread-safe; the same text gives the same vector in any process and any batch."""

    @property
    def name(self) -> str:
        """Name of the space its vectors lie in; changes whenever the vectors would."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has within a longer one, 0 where the model gives none."""


class Tagger(Protocol):
    """Text to typed mentions with offsets, ascending and not overlapping."""

    @property
    def name(self) -> str:
        """Name and version of the tagger."""

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text; `key` is filled with `entity_key(surface)`."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message to a language model."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str
    """The text."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model said."""

    text: str
    """The text."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    """Calls and tokens it took."""
    truncated: bool = False
    """True when the model stopped at the token limit."""


class ChatModel(Protocol):
    """A language model. Raises ModelError on failure, after its own retries."""

    @property
    def name(self) -> str:
        """Model name, as it is reported."""

    def complete(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Completion:
        """Return one answer."""

    def stream(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Iterator[str | Completion]:
        """Yield pieces of text as they come, and at the end one Completion with the whole text and its usage."""


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
