"""Where data lies: servers in place of the ledger and of the embedded projections, and the database asked with SQL."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr, field_validator, model_validator

from theworld.settings.sections import Section, UserPath


class ServersSettings(Section):
    """What is the same for all servers in place of what is embedded: limits, connections, certificates, names."""

    timeout_s: float = Field(default=0.8, gt=0, le=600, description="Longest wait for the answer to a query")
    write_timeout_s: float = Field(default=60.0, gt=0, le=3600, description="Longest wait for one batch to be written")
    connections: int = Field(default=8, ge=1, le=256, description="Connections kept open to each")
    ca_file: Path | None = Field(default=None, description="PEM file of the authorities that signed certificates")
    verify: bool = Field(default=True, description="Check certificates; false is for trials only")
    prefix: str = Field(
        default="theworld",
        pattern=r"^[a-z][a-z0-9]{0,30}$",
        description="What names in OpenSearch, Qdrant and Neo4j begin with; the rest is the ledger's identity",
    )
    shards: int = Field(
        default=1, ge=1, le=1024, description="Shards of a new index or collection; 1 up to some ten million notes"
    )
    replicas: int = Field(default=0, ge=0, le=10, description="Copies of each shard of a new index or collection")


class ServerSection(Section):
    """Where one server is."""

    SCHEMES: ClassVar[tuple[str, ...]] = ()
    """What the address may begin with."""

    url: str | None = Field(default=None, description="Address of the server; none: embedded in the store's folder")

    @model_validator(mode="after")
    def _address_is_plain(self) -> Self:
        scheme, _, rest = (self.url or "").partition("://")
        if self.url is not None and (scheme not in self.SCHEMES or not rest):
            raise ValueError(f"url must begin with {' or '.join(f'{name}://' for name in self.SCHEMES)}")
        if "@" in rest.partition("/")[0]:
            raise ValueError("url must hold no password; put it into the settings for it, or into a file")
        return self


class LoginSection(ServerSection):
    """A server that knows its clients by name and password."""

    username: str | None = Field(default=None, description="User name, with a password")
    password: SecretStr | None = Field(default=None, description="Password")

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        if self.username is None and self.password is not None:
            raise ValueError("a password needs a username")
        return self

    def credentials(self) -> tuple[str, str] | None:
        """Return user name and password, None when there are none."""
        if self.username is None:
            return None
        return self.username, self.password.get_secret_value() if self.password is not None else ""


class LedgerSection(LoginSection):
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


class SparseSection(LoginSection):
    """The sparse projection on OpenSearch."""

    SCHEMES = ("http", "https")


class DenseSection(ServerSection):
    """The dense projection on Qdrant."""

    SCHEMES = ("http", "https")

    api_key: SecretStr | None = Field(default=None, description="API key")
    quantization: Literal["none", "scalar", "binary"] = Field(
        default="none", description="Small copies of the vectors in memory; the best are scored again by the whole ones"
    )
    on_disk: bool = Field(default=False, description="Keep whole vectors on disk, read when they are needed")


class GraphSection(LoginSection):
    """The graph projection on Neo4j."""

    SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")

    database: str | None = Field(default=None, description="Database; none: the server's default")


class ServerSettings(ServersSettings, ServerSection):
    """All that the client of one server needs: its own section, what is the same for all, and what is no setting.

    Given in code in place of a section, it stands for itself: `Settings(ledger=LedgerSettings(timeout_s=5, ...))`.
    """

    failures: int = 3
    """Failures in a row after which it is left alone until it answers again: one may be chance, and each costs a query
    its whole time limit."""
    probe_s: float = 1.0
    """Longest pause in seconds between two looks at one left alone: a look costs it next to nothing."""

    @classmethod
    def of(cls, section: ServerSection, servers: ServersSettings) -> Self:
        """Return the section with what is the same for all servers."""
        if isinstance(section, cls):
            return section
        return cls.model_validate({**servers.model_dump(exclude_unset=True), **section.model_dump(exclude_unset=True)})


class LedgerSettings(ServerSettings, LedgerSection):
    """All that the client of PostgreSQL needs."""


class SparseSettings(ServerSettings, SparseSection):
    """All that the client of OpenSearch needs."""


class DenseSettings(ServerSettings, DenseSection):
    """All that the client of Qdrant needs."""


class GraphSettings(ServerSettings, GraphSection):
    """All that the client of Neo4j needs."""


class DatabaseSettings(Section):
    """A database whose rows are asked with SQL; without an address there is no SQL path."""

    url: SecretStr | None = Field(default=None, description="sqlite:///FILE or postgresql://USER@HOST/DATABASE")
    ontology: UserPath = Field(default=None, description="Mapping file, or ontology with tables (docs/sql.md)")
    timezone: str = Field(default="UTC", description="Zone that days and months are meant in, such as Asia/Shanghai")
    max_rows: int = Field(default=500, ge=1, le=100_000, description="Most rows of one result")
    timeout_ms: int = Field(default=800, ge=1, le=600_000, description="Longest time of one statement")
    model_sql: bool = Field(
        default=False, description="Let a configured language model write SQL for questions the rules do not read"
    )

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
        if self.url is None and self.ontology is not None:
            raise ValueError("database.ontology maps the database of database.url; give the address too")
        return self
