"""Where entities are looked up."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from theworld.settings.section import Section


class WikidataSettings(Section):
    """Where entities are looked up: the bundled snapshot, a snapshot of your own, or (only if asked) the service."""

    snapshot: Path | None = Field(default=None, description="File made by `theworld wikidata build`; none: bundled")
    online: bool = Field(default=False, description="Ask the Wikidata service; false makes no network call")
    contact: str | None = Field(default=None, description="Your mail address or page, which the service asks for")
    api: str = Field(default="https://www.wikidata.org/w/api.php", description="Endpoint of the service")
    timeout_s: float = Field(default=10.0, gt=0, le=600, description="Longest wait for one name, retries included")
    total_timeout_s: float = Field(default=10.0, gt=0, le=600, description="Longest wait for all names of a question")
    maxlag_s: int = Field(default=5, ge=0, le=60, description="The service may refuse when its copies lag more")
    connections: int = Field(default=4, ge=1, le=32, description="Connections kept open")
    cache: Path | None = Field(default=None, description="Folder of the replies; none: the user's cache folder")
    cache_days: float = Field(default=30.0, ge=0, le=3650, description="Age at which a reply is asked for anew")
    ask_model: bool = Field(default=False, description="Ask a configured language model which entry a close call means")
    cache_mb: int = Field(default=200, ge=0, le=100_000, description="Size limit of the replies kept; 0 keeps none")

    @field_validator("snapshot", "cache")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None
