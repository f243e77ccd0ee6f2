"""The graph channel: personalised PageRank from the query's entities and the other channels' best notes."""

from __future__ import annotations

from functools import partial
from typing import Any

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import EngineUnavailableError, StoreError
from theworld.questions import read_question
from theworld.retrieval.channel import EmbedderOf, nearest, ranked, search_channel
from theworld.retrieval.graph import SEED_NOTES, query_entities, seed_entities, seed_notes, word_paths
from theworld.settings import RetrievalSettings
from theworld.state import Channel, ChannelPlan, Context, Degradation, QueryState, Update
from theworld.stores.protocols import DenseStore, GraphStore, SparseStore
from theworld.wikidata import EntriesByName

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
        noted, lists = list[Degradation](), list[list[str]]()
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
            **ranked("graph", [(hit.note_id, hit.score) for hit in hits], note),
            "paths": word_paths(paths, context.language or state.language),
            "degradations": noted,
        }

    return search_channel("graph", state, runtime, settings, search)
