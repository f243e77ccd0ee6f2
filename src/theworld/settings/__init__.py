"""One typed tree of settings: defaults < theworld.toml < .env < environment (THEWORLD_*) < arguments.

`tree.py` joins the sections of the other files. Nested names use two underscores:
`THEWORLD_RETRIEVAL__DEADLINE_MS=800`. An empty variable counts as not set.
"""

from theworld.settings.retrieval import (
    AnswerSettings,
    FusionSettings,
    ModelSettings,
    OntologySettings,
    RerankSettings,
    RetrievalSettings,
    RouterSettings,
    TokenPrice,
)
from theworld.settings.sections import (
    EmbeddingSettings,
    IngestionSettings,
    NoteSettings,
    Section,
    ServiceSettings,
    TaggerSettings,
    WikidataSettings,
)
from theworld.settings.stores import (
    DatabaseSettings,
    DenseSettings,
    GraphSettings,
    LedgerSettings,
    LoginSection,
    ServerSettings,
    ServersSettings,
    SparseSettings,
)
from theworld.settings.tree import ENVIRONMENT_FILE, SETTINGS_FILE, Settings, setting_value, settings_origins

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
    "SETTINGS_FILE",
    "ENVIRONMENT_FILE",
    "Settings",
    "settings_origins",
    "setting_value",
]
