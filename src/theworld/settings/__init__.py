"""One typed tree of settings: defaults < theworld.toml < .env < environment (THEWORLD_*) < arguments.

Nested names use two underscores: `THEWORLD_RETRIEVAL__DEADLINE_MS=800`. An empty variable counts as not set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, PrivateAttr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from theworld.settings.sections import (
    AnswerSettings,
    EmbeddingSettings,
    FusionSettings,
    IngestionSettings,
    ModelSettings,
    NoteSettings,
    OntologySettings,
    RerankSettings,
    RetrievalSettings,
    RouterSettings,
    Section,
    ServiceSettings,
    TaggerSettings,
    TokenPrice,
    WikidataSettings,
)
from theworld.settings.sources import ARGUMENT, DEFAULT, OpenAIVariables, Origin, leaves, read_settings
from theworld.settings.stores import (
    DatabaseSettings,
    DenseSection,
    DenseSettings,
    GraphSection,
    GraphSettings,
    LedgerSection,
    LedgerSettings,
    LoginSection,
    ServerSettings,
    ServersSettings,
    SparseSection,
    SparseSettings,
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
        return init_settings, env_settings, dotenv_settings, toml, OpenAIVariables(settings_cls)


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
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value
