"""The two ways rerank servers are asked: Cohere's `/v1/rerank` (vLLM, Jina, llama.cpp, ...) and TEI's `/rerank`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AliasChoices, BaseModel, Field, FiniteFloat, TypeAdapter, ValidationError

from theworld.models.onnx_encoder import encodable
from theworld.models.replies import BrokenReplyError

Kind: TypeAlias = Literal["cohere", "tei"]
_EXCERPT = 200


class _Result(BaseModel):
    index: Annotated[int, Field(ge=0)]
    score: FiniteFloat = Field(validation_alias=AliasChoices("relevance_score", "score"))


class _CohereReply(BaseModel):
    results: list[_Result]


_COHERE, _TEI = TypeAdapter(_CohereReply), TypeAdapter(list[_Result])


@dataclass(frozen=True, slots=True)
class RerankProtocol:
    """How one server is asked and how its answer is read."""

    kind: Kind
    base_url: str
    """With or without the version at its end."""
    model: str | None
    logits: bool
    """Whether raw scores are expected rather than relevances in [0, 1]."""

    @property
    def url(self) -> str:
        """Where requests go."""
        base = self.base_url.rstrip("/")
        if self.kind == "tei" or base.rsplit("/", maxsplit=1)[-1] in {"v1", "v2"}:
            return f"{base}/rerank"
        return f"{base}/v1/rerank"

    def body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the JSON of one request; all texts are to be scored."""
        asked, told = encodable(query), [encodable(text) for text in texts]
        if self.kind == "tei":
            return {"query": asked, "texts": told, "raw_scores": self.logits, "truncate": True}
        return {"model": self.model, "query": asked, "documents": told, "top_n": len(told)}

    def scores(self, reply: bytes, expected: int) -> list[float]:
        """Return the scores in the order of the texts; BrokenReplyError when the reply is not one score for each."""
        try:
            results = _TEI.validate_json(reply) if self.kind == "tei" else _COHERE.validate_json(reply).results
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise BrokenReplyError(f"unusable reply: {where}: {first['msg']}: {_excerpt(reply)}") from error
        by_index = {result.index: result.score for result in results}
        if sorted(by_index) != list(range(expected)) or len(results) != expected:
            raise BrokenReplyError(f"{len(results)} scores, not one for each of {expected} texts")
        return [by_index[index] for index in range(expected)]


def _excerpt(reply: bytes) -> str:
    return repr(reply[:_EXCERPT].decode("utf-8", "replace"))


def status_reason(status: int, reply: bytes) -> str:
    """Return in words what a refusal says."""
    hints = {
        401: "; check rerank.api_key",
        403: "; check rerank.api_key",
        404: "; check rerank.base_url and rerank.model",
    }
    hints |= {413: "; lower rerank.batch_size", 422: "; check rerank.protocol, or lower rerank.batch_size"}
    said = " ".join(reply[:_EXCERPT].decode("utf-8", "replace").split())
    return f"HTTP {status}: {said}{hints.get(status, '')}"
