"""The node: which documents a conversation is about, by the BM25 of what was said last.

"Do reminders still go out?" points at nothing, but after an answer out of one document the next question is more often
about that document than about another. Their notes get a small advantage in the reranking.
"""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.runtime import Runtime

from theworld.deadline import run_within
from theworld.retrieval.channel import channel_deadline
from theworld.settings import RetrievalSettings
from theworld.state import Context, QueryState, Update, context_at
from theworld.stores.protocols import Hit, SparseStore

STAGE = "find_conversation_documents"
LONGEST = 1000
"""Characters of the last answer that are looked at: its beginning says what it is about."""
NOTES = 10
"""Notes most like it whose documents count."""


def find_conversation_documents(
    state: QueryState, runtime: Runtime[Context], *, sparse: SparseStore, settings: RetrievalSettings
) -> Update:
    """Find the documents that the last answer was about; it runs beside the channels and has their time."""
    context = context_at(state, runtime)
    text = (state.history[-1].content or "")[:LONGEST]
    hits = run_within(
        channel_deadline(state, context, settings),
        lambda: sparse.search(text, tenant=context.tenant, filters=context.filters, limit=NOTES),
        name=STAGE,
    )
    return {"conversation": nearness(hits)}


def nearness(hits: Sequence[Hit]) -> dict[str, float]:
    """Return how near each document of some hits, best first, is, in (0, 1]: its best score over the best, squared."""
    near: dict[str, float] = {}
    for hit in hits:
        if hit.score > 0:
            near.setdefault(hit.note_id.rpartition("#")[0], (hit.score / hits[0].score) ** 2)
    return near
