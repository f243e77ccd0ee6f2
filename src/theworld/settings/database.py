"""The database whose rows are asked with SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr, field_validator, model_validator

from theworld.settings.section import Section


class DatabaseSettings(Section):
    """A database whose rows are asked with SQL; without an address there is no SQL path."""

    url: SecretStr | None = Field(default=None, description="sqlite:///FILE or postgresql://USER@HOST/DATABASE")
    ontology: Path | None = Field(default=None, description="Ontology file that maps classes to tables (docs/sql.md)")
    timezone: str = Field(default="UTC", description="Zone that days and months are meant in, such as Asia/Shanghai")
    max_rows: int = Field(default=500, ge=1, le=100_000, description="Most rows of one result")
    timeout_ms: int = Field(default=800, ge=1, le=600_000, description="Longest time of one statement")
    model_sql: bool = Field(
        default=False, description="Let a configured language model write SQL for questions the rules do not read"
    )

    @field_validator("ontology")
    @classmethod
    def _without_tilde(cls, path: Path | None) -> Path | None:
        return path.expanduser() if path else None

    @field_validator("timezone")
    @classmethod
    def _is_a_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ValueError, OSError, ZoneInfoNotFoundError) as error:
            raise ValueError(f"{name!r} is no time zone; use a name such as UTC or Asia/Shanghai") from error
        return name

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.url is None) != (self.ontology is None):
            raise ValueError("database.url and database.ontology go together; give both or neither")
        return self
