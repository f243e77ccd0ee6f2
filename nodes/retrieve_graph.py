"""The graph channel: personalised PageRank from the query's entities and the other channels' best notes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import EngineUnavailableError, StoreError
from theworld.questions import read_question
from theworld.retrieval.channel import ranked, search_channel
from theworld.retrieval.dense import EmbedderOf, nearest
from theworld.retrieval.evidence_paths import word_paths
from theworld.retrieval.seeds import SEED_NOTES, query_entities, seed_entities, seed_notes
from theworld.settings import RetrievalSettings
from theworld.state import Channel, ChannelPlan, Context, Degradation, QueryState, Update
from theworld.stores.protocols import DenseStore, GraphStore, SparseStore
from theworld.text import Language
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
    search = GraphSearch(state, graph, sparse, dense, embedder_of, names)
    return search_channel("graph", state, runtime, settings, search)


@dataclass(frozen=True, slots=True)
class GraphSearch:
    """The search of one question over the graph, with what it reads from."""

    state: QueryState
    graph: GraphStore
    sparse: SparseStore
    dense: DenseStore
    embedder_of: EmbedderOf
    names: EntriesByName | None

    def __call__(self, plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        """Return the channel's list and the evidence paths of its first notes."""
        begun, noted, tenant = time.perf_counter(), list[Degradation](), context.tenant
        entities, notes = self._seeds(context, deadline, noted)
        hits = self.graph.rank(
            notes=notes,
            entities=seed_entities(entities),
            tenant=tenant,
            filters=context.filters,
            limit=plan.top_k,
        )
        deadline.check()
        first = [hit.note_id for hit in hits[:PATHS_KEPT]]
        language: Language = "zh" if self.state.language == "zh" else "en"
        paths = word_paths(self.graph.paths(first, notes=list(notes), entities=list(entities), tenant=tenant), language)
        ranking = [(hit.note_id, hit.score) for hit in hits]
        note = f"seeds: {len(notes)} notes, entities: {', '.join(entities) or 'none'}"
        return {
            **ranked("graph", ranking, begun, note),
            "paths": paths,
            "degradations": noted,
        }

    def _seeds(
        self, context: Context, deadline: Deadline, noted: list[Degradation]
    ) -> tuple[dict[str, int], dict[str, float]]:
        """Return where the walk begins: entity key -> number of notes naming it, and note id -> weight."""
        query, lists = self.state.query, list[list[str]]()
        question = read_question(query, self.state.language)
        wanted: SeedQuery = {"tenant": context.tenant, "filters": context.filters, "limit": SEED_NOTES}
        with self._without("sparse", context, noted):
            lists.append([hit.note_id for hit in self.sparse.search(question.keywords, **wanted)])
        deadline.check()
        entities = None
        known = partial(self.graph.entities, tenant=context.tenant)
        reason = "other names of what the question names are left out"
        with degrading(STAGE, context, noted, reason, catching=StoreError):
            entities = query_entities(question, known, self.names)
        if entities is None:
            entities = query_entities(question, known)
        # Last, since the dense channel is computing the vector meanwhile.
        with self._without("dense", context, noted):
            near, _ = nearest(query, dense=self.dense, embedder_of=self.embedder_of, **wanted)
            lists.append([hit.note_id for hit in near.hits])
        deadline.check()
        return entities, seed_notes(lists)

    def _without(self, channel: Channel, context: Context, noted: list[Degradation]) -> degrading:
        reason = f"the walk begins without the {channel} channel's notes"
        return degrading(STAGE, context, noted, reason, catching=EngineUnavailableError)


class SeedQuery(TypedDict):
    """What the other channels are asked for."""

    tenant: str
    filters: Mapping[str, str | list[str]]
    limit: int
