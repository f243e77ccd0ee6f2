"""What the graph is built over: stores, models and clients, opened once, warmed up and closed together."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.entities import (
    DeterministicJudge,
    EntityJudge,
    EntityKnowledge,
    ModelJudge,
    make_knowledge,
    open_knowledge,
)
from theworld.errors import DatabaseError, check_kind
from theworld.models.chat import OpenAIChatModel
from theworld.models.protocols import ChatModel
from theworld.models.registry import Models, load_models
from theworld.ontology.retrieval import OntologyIndexes
from theworld.ranking import CrossEncoderReranker, RemoteReranker, Reranker, make_reranker
from theworld.references import ReferenceResolver, ReferenceResolverConfig, model_resolver
from theworld.retrieval.ontology import OntologyChannel
from theworld.routing import RouteHistory, Rules, Strategy, features_of
from theworld.settings import Settings
from theworld.state import Context
from theworld.stores.knowledge_store import KnowledgeStore, open_store
from theworld.stores.token_codes import directions

if TYPE_CHECKING:
    from theworld.sql.database import Database


WARM_UP = "warm up"
WARM_UP_QUESTIONS = {
    "en": "Where was the author of the first novel about the moon born?",
    "zh": "第一部月球小说的作者出生在哪里？",
}
"""One in each language, of more than one hop, so that it takes the whole way."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Resources:
    """Everything `build_graph` closes over; replace any part to experiment or to test."""

    settings: Settings
    """The effective settings."""
    store: KnowledgeStore
    """Ledger and projections."""
    models: Models
    """Embedders, taggers and the optional language model."""
    reranker: Reranker
    """Orders the fused candidates."""
    resolver: ReferenceResolver
    """Resolves references to the chat history."""
    knowledge: EntityKnowledge
    """Where entity candidates come from."""
    judge: EntityJudge
    """Decides which entity a mention is, or none."""
    strategy: Strategy = field(default_factory=Rules)
    """Chooses the path of a question."""
    database: Database | None = None
    """The mapped database, None where none is configured."""
    history: RouteHistory | None = None
    """How often each path led to an accepted answer, where that is logged."""
    ontology: OntologyChannel | None = None
    """Asks the ontologies in the store; none leaves them out."""
    limit: int = 4
    """Runs of a graph over these that are under way at once, in threads and in each event loop; others wait."""


def make_resources(
    settings: Settings, store: KnowledgeStore, models: Models, knowledge: EntityKnowledge | None = None
) -> Resources:
    """Return the default resources over an open store and loaded models; no `knowledge`: what the settings name.

    SettingsError or ModelError when the reranker's model cannot be right.
    """
    return Resources(
        settings=settings,
        store=store,
        models=models,
        reranker=make_reranker(settings, dense=store.dense, graph=store.graph, embedder_of=models.by_space),
        resolver=make_resolver(models.chat, settings.model.timeout_s),
        knowledge=knowledge or make_knowledge(settings.wikidata),
        judge=make_judge(settings, models),
        limit=settings.service.running,
        ontology=OntologyChannel(OntologyIndexes(store.ledger.graph), store, settings.ontology),
    )


def make_judge(settings: Settings, models: Models) -> EntityJudge:
    """Return the judge; a model is asked about close calls where one is configured and the settings want it."""
    judge = DeterministicJudge()
    if models.chat is None or not settings.wikidata.ask_model:
        return judge
    return ModelJudge(models.chat, first=judge)


LEAST_SURE_REFERENCE = 0.75
"""Confidence of the rules below which a configured model is asked what a question refers to."""


def make_resolver(model: ChatModel | None, timeout_s: float | None = None) -> ReferenceResolver:
    """Return the resolver; a model, where one is configured, is asked only when the rules are unsure."""
    if model is None:
        return ReferenceResolver()
    config = ReferenceResolverConfig(
        use_llm_fallback=True, llm_only_if_unsure=True, llm_fallback_threshold=LEAST_SURE_REFERENCE
    )
    return ReferenceResolver(config, llm_resolver=model_resolver(model, timeout_s=timeout_s))


@contextmanager
def open_resources(
    settings: Settings | None = None, *, read_only: bool = True, create: bool = False
) -> Iterator[Resources]:
    """Open the store and the models named by the settings, and close them at the end.

    The embedders of the spaces in the store with what compares their token vectors, a cross-encoder, the client of a
    language model, the word lists of the router and the patterns that find references in the store's languages are
    loaded here, so that the first question does not pay for it within its deadline.

    Raises StoreError when there is no store or it cannot be read, ModelError when a model cannot be loaded,
    ModelMismatchError when the store's vectors were made by other models than the settings name.
    """
    settings = settings or Settings.load()
    check_kind(settings, Settings, where="settings of open_resources", remedy="Give Settings.load(store=...).")
    models = load_models(settings)
    with (
        open_knowledge(settings.wikidata) as knowledge,
        open_store(settings, read_only=read_only, create=create) as store,
    ):
        store.check_embedders({language: one.name for language, one in models.embedders.items()})
        tenants = store.info()["tenants"].values()
        for space in sorted({name for tenant in tenants for name in tenant["spaces"]}):
            embedder = models.by_space(space)
            if embedder is not None and (tokens := embedder.embed_query(WARM_UP).tokens) is not None:
                directions(tokens.vectors.shape[1])
        if isinstance(models.chat, OpenAIChatModel):
            models.chat.warm()
        resources = make_resources(settings, store, models, knowledge)
        for language, question in WARM_UP_QUESTIONS.items():
            if any(language in tenant["languages"] for tenant in tenants):
                resources.resolver.resolve(question, use_model=False)
        if resources.ontology is not None:
            resources.ontology.warm(store.ledger.graph.tenants())
        with ready(resources.reranker), open_database(settings) as database:
            view = database.view(WARM_UP, Context()) if database is not None else None
            features_of(WARM_UP, Context(), settings, database=view)
            yield replace(resources, database=database)


@contextmanager
def open_database(settings: Settings) -> Iterator[Database | None]:
    """Open the mapped database, where one is configured, and close it at the end.

    Raises SettingsError, OntologyError or DatabaseError when it cannot be asked as the settings say.
    """
    if settings.database.url is None:
        yield None
        return
    from theworld.sql.database import Database

    try:
        opened = Database.open(settings.database)
    except DatabaseError as error:
        cause = getattr(error.__context__, "orig", None)  # what the driver says, where it is one that says no
        if cause is None:
            raise
        said = f"{error.what}: {str(cause).partition(chr(10))[0]}"
        raise DatabaseError(said, where=error.where, remedy=error.remedy) from error
    with closing(opened) as database:
        database.lexicon("default")
        yield database


@contextmanager
def ready(reranker: Reranker) -> Iterator[None]:
    """Load a cross-encoder's weights before, close a remote reranker's connections after."""
    if isinstance(reranker, CrossEncoderReranker):
        reranker.warm()
    try:
        yield
    finally:
        if isinstance(reranker, RemoteReranker):
            reranker.close()


def warm_up(graph: Any, resources: Resources) -> None:
    """Ask the graph in both languages, of the tenant that has most notes, without a language model.

    Notes of one language are asked in the other too, whose models take a second and some 60 MB.

    A warm-up that fails is logged: the first question may then be late, and says itself what is wrong.
    """
    tenants = resources.store.info()["tenants"]
    if not tenants:
        return
    tenant = max(sorted(tenants), key=lambda name: tenants[name]["notes"])
    context = Context(tenant=tenant, use_model=False, deadline_ms=BACKGROUND_DEADLINE_MS)
    for question in WARM_UP_QUESTIONS.values():
        try:
            graph.invoke({"question": question}, context=context)
        except Exception as error:  # what is wrong is for the first question to say
            _LOG.warning("the warm-up failed, the first question may be late: %s", error)
