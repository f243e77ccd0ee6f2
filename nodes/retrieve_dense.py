"""The dense channel: nearest notes by cosine, in every space that has notes."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.retrieval.channel import EmbedderOf, nearest, ranked, search_channel
from theworld.settings import RetrievalSettings
from theworld.state import ChannelPlan, Context, QueryState, Update
from theworld.stores.protocols import DenseStore


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
        return ranked("dense", hits, f"spaces: {', '.join(spaces)}", **known)

    return search_channel("dense", state, runtime, settings, search)
