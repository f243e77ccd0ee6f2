"""A server in place of the ledger's file."""

from __future__ import annotations

from pydantic import Field, field_validator

from theworld.settings.server import ServerSettings, UserSettings


class LedgerSettings(ServerSettings, UserSettings):
    """The ledger on PostgreSQL."""

    SCHEMES = ("postgresql", "postgresql+psycopg")

    url: str | None = Field(default=None, description="postgresql+psycopg://HOST:PORT/DATABASE; none: a SQLite file")
    namespace: str = Field(
        default="theworld",
        pattern=r"^[a-z][a-z0-9_]{0,62}$",
        description="Schema of the database that holds the tables; one for each ledger",
    )
    tls: bool | None = Field(default=None, description="Encrypt; none: to any host but this machine")

    @field_validator("url")
    @classmethod
    def _names_a_database(cls, url: str | None) -> str | None:
        rest = (url or "").partition("://")[2]
        if url is not None and ("?" in rest or not rest.partition("/")[2]):
            raise ValueError("url must be postgresql+psycopg://HOST:PORT/DATABASE; all else has settings of its own")
        return url
