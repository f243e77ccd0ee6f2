"""The channels: BM25, nearest vectors, personalised PageRank and the ontology, each a node."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import EngineUnavailableError, StoreError
from theworld.questions import read_question
from theworld.retrieval.channel import ranked, search_channel
from theworld.retrieval.dense import EmbedderOf, nearest
from theworld.retrieval.evidence_paths import word_paths
from theworld.retrieval.ontology import OntologyChannel
from theworld.retrieval.seeds import SEED_NOTES, query_entities, seed_entities, seed_notes
from theworld.settings import RetrievalSettings
from theworld.state import Channel, ChannelPlan, Context, Degradation, QueryState, Update
from theworld.stores.protocols import DenseStore, GraphStore, SparseStore
from theworld.wikidata import EntriesByName


def retrieve_sparse(
    state: QueryState, runtime: Runtime[Context], *, sparse: SparseStore, settings: RetrievalSettings
) -> Update:
    """Rank notes by BM25 of the stand-alone query's keywords."""

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        begun = time.perf_counter()
        keywords = read_question(state.query, state.language).keywords
        hits = sparse.search(keywords, tenant=context.tenant, filters=context.filters, limit=plan.top_k)
        return ranked("sparse", [(hit.note_id, hit.score) for hit in hits], begun)

    return search_channel("sparse", state, runtime, settings, search)


def retrieve_dense(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    dense: DenseStore,
    embedder_of: EmbedderOf,
    settings: RetrievalSettings,
) -> Update:
    """Rank notes by the similarity of their vectors to the stand-alone query's."""

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        begun = time.perf_counter()
        found, spaces = nearest(
            state.query,
            dense=dense,
            embedder_of=embedder_of,
            tenant=context.tenant,
            filters=context.filters,
            limit=plan.top_k,
        )
        hits = [(hit.note_id, hit.score) for hit in found.hits]
        known = {"mean": found.mean, "deviation": found.deviation, "searched": sum(spaces.values())}
        return ranked("dense", hits, begun, f"spaces: {', '.join(spaces)}", **known)

    return search_channel("dense", state, runtime, settings, search)


STAGE = "retrieve_graph"
PATHS_KEPT = 20
"""Top notes whose evidence path is looked up."""


def retrieve_graph(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    graph: GraphStore,
    sparse: SparseStore,
    dense: DenseStore,
    embedder_of: EmbedderOf,
    settings: RetrievalSettings,
    names: EntriesByName | None = None,
) -> Update:
    """Rank notes by how well they are connected to what the query names and what the other channels put first.

    `names` are other names of what the query speaks of; where they cannot be read, the query's own stand.
    The channels run side by side, so the seeds are looked up here; the query's vector comes from the shared cache. A
    server that cannot be reached gives no seeds, and the walk begins with what the others give.
    """

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        begun, noted, lists = time.perf_counter(), list[Degradation](), list[list[str]]()
        question, known = read_question(state.query, state.language), partial(graph.entities, tenant=context.tenant)
        wanted: dict[str, Any] = {"tenant": context.tenant, "filters": context.filters, "limit": SEED_NOTES}

        def without(channel: Channel) -> degrading:
            reason = f"the walk begins without the {channel} channel's notes"
            return degrading(STAGE, context, noted, reason, catching=EngineUnavailableError)

        with without("sparse"):
            lists.append([hit.note_id for hit in sparse.search(question.keywords, **wanted)])
        deadline.check()
        entities, reason = None, "other names of what the question names are left out"
        with degrading(STAGE, context, noted, reason, catching=StoreError):
            entities = query_entities(question, known, names)
        if entities is None:
            entities = query_entities(question, known)
        # Last, since the dense channel is computing the vector meanwhile.
        with without("dense"):
            near, _ = nearest(state.query, dense=dense, embedder_of=embedder_of, **wanted)
            lists.append([hit.note_id for hit in near.hits])
        deadline.check()
        seeds = seed_notes(lists)
        hits = graph.rank(
            notes=seeds,
            entities=seed_entities(entities),
            tenant=context.tenant,
            filters=context.filters,
            limit=plan.top_k,
        )
        deadline.check()
        first = [hit.note_id for hit in hits[:PATHS_KEPT]]
        paths = graph.paths(first, notes=list(seeds), entities=list(entities), tenant=context.tenant)
        note = f"seeds: {len(seeds)} notes, entities: {', '.join(entities) or 'none'}"
        return {
            **ranked("graph", [(hit.note_id, hit.score) for hit in hits], begun, note),
            "paths": word_paths(paths, state.language),
            "degradations": noted,
        }

    return search_channel("graph", state, runtime, settings, search)


def retrieve_ontology(
    state: QueryState, runtime: Runtime[Context], *, ontology: OntologyChannel | None, settings: RetrievalSettings
) -> Update:
    """Rank notes by how closely the ontology ties them to what the query names or describes.

    Descriptions that its facts resolve ("the guarantor of X") are replaced by names in the query.
    """

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        begun = time.perf_counter()
        findings = ontology.ask(state.query, state.language, context, deadline, plan.top_k) if ontology else None
        if findings is None:
            return ranked("ontology", [], begun, "nothing recognised")
        named = ", ".join(dict.fromkeys(match.label for match in findings.evidence.matches))
        update = ranked("ontology", list(findings.notes), begun, f"recognised: {named}")
        query = findings.evidence.understood or state.query
        return {**update, "query": query, "ontology": findings.evidence}

    return search_channel("ontology", state, runtime, settings, search)
