"""The sparse channel: BM25."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.questions import read_question
from theworld.retrieval.channel import ranked, search_channel
from theworld.settings import RetrievalSettings
from theworld.state import ChannelPlan, Context, QueryState, Update
from theworld.stores.protocols import SparseStore


def retrieve_sparse(
    state: QueryState, runtime: Runtime[Context], *, sparse: SparseStore, settings: RetrievalSettings
) -> Update:
    """Rank notes by BM25 of the stand-alone query's keywords."""

    def search(plan: ChannelPlan, context: Context, deadline: Deadline) -> Update:
        keywords = read_question(state.query, state.language).keywords
        hits = sparse.search(keywords, tenant=context.tenant, filters=context.filters, limit=plan.top_k)
        return ranked("sparse", [(hit.note_id, hit.score) for hit in hits])

    return search_channel("sparse", state, runtime, settings, search)
