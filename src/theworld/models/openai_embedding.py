"""Embeddings from any OpenAI-compatible `/v1/embeddings` server (OpenAI, TEI, vLLM, Ollama, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, SecretStr

from theworld.models.endpoint import BrokenReplyError, Clock, Endpoint, per_attempt, read_reply
from theworld.models.lazy import Lazy
from theworld.models.onnx_encoder import encodable, unit
from theworld.models.protocols import Embedded, FloatArray
from theworld.settings import Settings

_PROBE = "dimension"
BATCH = 32
"""Texts in one request: what TEI takes at most as it comes."""


class _Vector(BaseModel):
    index: int = 0
    embedding: list[float] = Field(min_length=1)


class _Reply(BaseModel):
    data: list[_Vector]


class OpenAIEmbedder:
    """Vectors of a remote model, normalised; pooled only. The dimension is asked for once."""

    def __init__(self, model: str, endpoint: Endpoint, batch_size: int = BATCH) -> None:
        self._model = model
        self._endpoint = endpoint
        self._batch_size = batch_size
        self._dimension = Lazy(lambda: int(self.embed_query(_PROBE).vector.shape[0]))

    @classmethod
    def from_settings(cls, model: str, settings: Settings) -> OpenAIEmbedder:
        """Make one for `settings.embedding`'s endpoint, or `settings.model`'s where that names none."""
        own, shared = settings.embedding, settings.model
        # The language model's key, and OPENAI_API_KEY, are not for another server.
        key = own.api_key or (shared.api_key if own.base_url is None else SecretStr(""))
        endpoint = Endpoint(own.base_url or shared.base_url, key, timeout_s=shared.timeout_s)
        return cls(model, endpoint)

    @property
    def name(self) -> str:
        """Name of the space: the model's name."""
        return f"openai-{self._model}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension.get()

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given, `batch_size` texts a call."""
        batches = (texts[start : start + self._batch_size] for start in range(0, len(texts), self._batch_size))
        return [Embedded(vector) for batch in batches for vector in self._embed(batch)]

    def _embed(self, texts: Sequence[str]) -> list[FloatArray]:
        # Servers refuse an empty input.
        inputs = [encodable(text) if text.strip() else "." for text in texts]
        vectors, _ = self._endpoint.call(
            lambda client, clock: self._ask(client, inputs, clock), Clock(self._endpoint.timeout_s)
        )
        return vectors

    def _ask(self, client: Any, inputs: list[str], clock: Clock) -> list[FloatArray]:
        create = client.embeddings.with_streaming_response.create
        request = create(model=self._model, input=inputs, encoding_format="float", timeout=per_attempt(clock))
        with request as response:
            reply = read_reply(response, _Reply, clock)
        return _checked(reply, len(inputs))


def _checked(reply: _Reply, expected: int) -> list[FloatArray]:
    if sorted(item.index for item in reply.data) != list(range(expected)):
        raise BrokenReplyError(f"{len(reply.data)} vectors for {expected} texts, or not indexed from 0")
    rows = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
    if len({len(row) for row in rows}) != 1:
        raise BrokenReplyError("vectors of different lengths in one reply")
    matrix = np.asarray(rows, dtype=np.float32)
    if not np.isfinite(matrix).all():
        raise BrokenReplyError("a vector is not finite")
    return [unit(row) for row in matrix]
