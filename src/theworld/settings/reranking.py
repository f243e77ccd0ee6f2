"""Which reranker, and how deep it goes."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from theworld.settings.section import Section


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
