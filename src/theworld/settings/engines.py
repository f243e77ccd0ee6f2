"""Servers in place of the embedded projections."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from theworld.settings.server import ServerSettings, UserSettings


class EngineSettings(ServerSettings):
    """A server in place of an embedded projection."""

    prefix: str = Field(
        default="theworld",
        pattern=r"^[a-z][a-z0-9]{0,30}$",
        description="What names on the server begin with; the rest is the ledger's identity",
    )


class EngineUserSettings(EngineSettings, UserSettings):
    """One that knows its clients by name and password."""


class SparseSettings(EngineUserSettings):
    """The sparse projection on OpenSearch."""

    SCHEMES = ("http", "https")

    shards: int = Field(default=1, ge=1, le=1024, description="Shards of a new index; 1 up to some ten million notes")
    replicas: int = Field(default=0, ge=0, le=10, description="Copies of each shard of a new index")


class DenseSettings(EngineSettings):
    """The dense projection on Qdrant."""

    SCHEMES = ("http", "https")

    api_key: SecretStr | None = Field(default=None, description="API key")
    api_key_file: Path | None = Field(default=None, description="File that holds the API key instead")
    prefer_grpc: bool = Field(default=False, description="Ask over gRPC; limits are then rounded up to whole seconds")
    grpc_port: int = Field(default=6334, ge=1, le=65535, description="Port of gRPC on the same host")
    shards: int = Field(default=1, ge=1, le=1024, description="Shards of a new collection")
    replicas: int = Field(default=0, ge=0, le=10, description="Copies of each shard of a new collection")
    exact: bool = Field(default=False, description="Compare with every vector instead of following the HNSW graph")
    ef: int = Field(default=128, ge=16, le=4096, description="HNSW: candidates looked at; more finds more, slower")
    quantization: Literal["none", "scalar", "binary"] = Field(
        default="none", description="Small copies of the vectors in memory; the best are scored again by the whole ones"
    )
    oversampling: float = Field(
        default=2.0, ge=1.0, le=20.0, description="Quantisation: how many times more are scored by the whole vectors"
    )
    on_disk: bool = Field(default=False, description="Keep whole vectors on disk, read when they are needed")

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        if self.api_key is not None and self.api_key_file is not None:
            raise ValueError("api_key and api_key_file contradict each other; remove one")
        return self


class GraphSettings(EngineUserSettings):
    """The graph projection on Neo4j."""

    SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")

    database: str | None = Field(default=None, description="Database; none: the server's default")
