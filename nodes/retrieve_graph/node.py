"""The graph channel: personalised PageRank from the query's entities and the other channels' best notes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.errors import EngineUnavailableError, StoreError
from theworld.nodes.retrieval_channel import ranked, search_channel
from theworld.nodes.retrieve_dense import EmbedderOf, nearest
from theworld.nodes.retrieve_graph.ontology import Asked, OntologyChannel, merge
from theworld.nodes.retrieve_graph.query_entities import query_entities
from theworld.nodes.retrieve_graph.seeds import SEED_NOTES, seed_entities, seed_notes
from theworld.nodes.retrieve_graph.wording import telling_steps, word_paths
from theworld.settings import RetrievalSettings
from theworld.state import Channel, ChannelPlan, ChannelResult, Context, Degradation, QueryState, Update
from theworld.stores.protocols import DenseStore, GraphStore, Hit, SparseStore
from theworld.wikidata import EntriesByName

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
    ontology: OntologyChannel | None = None,
    names: EntriesByName | None = None,
) -> Update:
    """Rank notes by how well they are connected to what the query names and what the other channels put first.

    Where the store has an ontology, the notes it leads to are ranked among them. `names` are other names of what the
    query speaks of; where they cannot be read, the query's own stand.
    The channels run side by side, so the seeds are looked up here; the query's vector comes from the shared cache. A
    server that cannot be reached gives no seeds, and the walk begins with what the others give.
    """
    language: Literal["zh", "en"] = "zh" if state.language == "zh" else "en"

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        begun = time.perf_counter()
        tenant, filters = context.tenant, context.filters
        degradations: list[Degradation] = []

        def seeds(channel: Channel, ask: Callable[[], list[Hit]]) -> list[str]:
            asked = time.perf_counter()
            try:
                found = [hit.note_id for hit in ask()]
            except EngineUnavailableError as error:
                if context.strict:
                    raise
                reason = f"the walk begins without the {channel} channel's notes: {error}"
                elapsed = (time.perf_counter() - asked) * 1000
                degradations.append(Degradation(stage="retrieve_graph", reason=reason, elapsed_ms=elapsed))
                found = []
            deadline.check()
            return found

        asked: dict[str, Any] = {"tenant": tenant, "filters": filters, "limit": SEED_NOTES}
        lists = [seeds("sparse", lambda: sparse.search(state.query, **asked))]
        try:
            entities = query_entities(state.query, lambda keys: graph.entities(keys, tenant=tenant), names)
        except StoreError as error:
            if context.strict:
                raise
            reason = f"other names of what the question names are left out: {error}"
            degradations.append(Degradation(stage="retrieve_graph", reason=reason))
            entities = query_entities(state.query, lambda keys: graph.entities(keys, tenant=tenant))
        # Last, since the dense channel is computing the vector meanwhile.
        lists += [seeds("dense", lambda: nearest(state.query, dense=dense, embedder_of=embedder_of, **asked)[0])]
        notes = seed_notes(lists)
        hits = graph.rank(
            notes=notes,
            entities=seed_entities(entities),
            tenant=tenant,
            filters=filters,
            limit=plan.top_k,
        )
        deadline.check()
        paths = graph.paths(
            [hit.note_id for hit in hits[:PATHS_KEPT]],
            notes=list(notes),
            entities=list(entities),
            tenant=tenant,
        )
        note = f"seeds: {len(notes)} notes, entities: {', '.join(entities) or 'none'}"
        ranking = [(hit.note_id, hit.score) for hit in hits]
        update = ranked("graph", ranking, begun, note)
        update |= {"paths": word_paths(paths, language), "degradations": degradations}
        if ontology is None:
            return update
        of_ontology = Asked(state.query, language, context, deadline, plan.top_k)
        told = _with_ontology(ontology, of_ontology, update, begun)
        return update | told | {"degradations": [*degradations, *told.get("degradations", [])]}

    return search_channel("graph", state, runtime, settings, search)


def _with_ontology(ontology: OntologyChannel, asked: Asked, found: Update, begun: float) -> Update:
    """Return what the ontology changes in what was found: nothing where there is none, a Degradation where it fails."""
    asking = time.perf_counter()
    try:
        told = ontology.ask(asked)
    except Exception as error:  # the PageRank's list stands without it
        if asked.context.strict:
            raise
        reason = f"the ontology is left out of the graph channel: {type(error).__name__}: {error}"
        elapsed = (time.perf_counter() - asking) * 1000
        return {"degradations": [Degradation(stage="retrieve_graph", reason=reason, elapsed_ms=elapsed)]}
    if told is None:
        return {}
    before: ChannelResult = found["channel_results"]["graph"]
    merged = merge(before.hits, told.notes, ontology.settings.weight, asked.limit)
    named = ", ".join(dict.fromkeys(match.label for match in told.evidence.matches))
    reached = {path.note_id for path in found["paths"]}
    further = (path for path in told.evidence.note_paths if path.note_id not in reached and telling_steps(path.steps))
    return {
        **ranked("graph", merged, begun, f"{before.note}; ontology: {named}, {len(told.notes)} notes"),
        "paths": [*found["paths"], *further],
        "ontology": told.evidence,
    }
