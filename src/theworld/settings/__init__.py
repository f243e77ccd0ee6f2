"""One typed tree of settings: defaults < theworld.toml < .env < environment (THEWORLD_*) < arguments.

A file per section; `tree.py` joins them. Nested names use two underscores: `THEWORLD_RETRIEVAL__DEADLINE_MS=800`. An
empty variable counts as not set.
"""

from theworld.settings.answers import AnswerSettings, ModelSettings, TokenPrice
from theworld.settings.database import DatabaseSettings
from theworld.settings.engines import DenseSettings, EngineSettings, EngineUserSettings, GraphSettings, SparseSettings
from theworld.settings.ingestion import EmbeddingSettings, IngestionSettings, NoteSettings, TaggerSettings
from theworld.settings.ledger import LedgerSettings
from theworld.settings.reranking import RerankSettings
from theworld.settings.retrieval import FusionSettings, OntologySettings, RetrievalSettings
from theworld.settings.routing import RouterSettings
from theworld.settings.section import Section
from theworld.settings.server import ServerSettings, UserSettings
from theworld.settings.service import ServiceSettings
from theworld.settings.tree import ENVIRONMENT_FILE, SETTINGS_FILE, Settings, setting_value, settings_origins
from theworld.settings.wikidata import WikidataSettings

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
    "ServerSettings",
    "UserSettings",
    "LedgerSettings",
    "EngineSettings",
    "EngineUserSettings",
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
