"""The node: search once more, with what the question before is about or as the notes spell it; keep what is surer.

"Who do I email?" points at nothing said before, and may be about it all the same; "delimitr" may be no word of its
own: only what is found tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from theworld.answers.sureness import probability_in, sureness_of
from theworld.models.embedders import common_words
from theworld.questions import read_question
from theworld.questions.words import respelt
from theworld.state import Context, QueryState, Update, context_of
from theworld.stores.protocols import FEWEST_NOTES

COMPARED = 8  # candidates of either search by which the words of a question are weighed
GAIN = 1.25
"""How much better the odds must be in the context of the question before: its words are found again, whatever is asked
now."""

LOSS = {"en": 12.0, "zh": 4.0}
"""What a note loses in log odds with all words of the question: what is surer in context may only be the old topic. Of
Chinese, whose index tokens are pairs of characters, notes in other words have few."""
LEAST = 0.1
"""Probability that what was found first has at least: nothing is surer than nothing by far."""

Search = Callable[[QueryState, Context], Mapping[str, Any]]
"""Searches for a state's query, from the channels to the reranked candidates; returns the values of the state."""


def other_wording(state: QueryState, context: Context) -> str | None:
    """Return the query to search with again where nothing sure was found, among so many notes that this says something.

    The question in the context of the one before, where it may be about that and what was found is unsure; else with
    its unknown words as the notes found spell them; None where there is neither.
    """
    dense, sureness = state.channel_results.get("dense"), sureness_of(probability_in(state, context))
    if dense is None or dense.searched < FEWEST_NOTES or sureness == "sure":
        return None
    if sureness == "unsure" and state.reference.in_context:
        return state.reference.in_context
    texts = [f"{note.title} {' '.join(note.section)} {note.text}" for note in state.candidates]
    return respelt(state.query, texts, common_words())


def search_again(state: QueryState, runtime: Runtime[Context], *, search: Search) -> Update:
    """Search for the question in its other wording; where the notes found are surer, they and this query stay.

    Both searches share the budget of retrieval; one that is late or loses a channel leaves what the first found, also
    in a strict context.
    """
    context = context_of(runtime)
    query = other_wording(state, context) or state.query
    again = QueryState(
        question=state.question,
        query=query,
        language=state.language,
        reference=state.reference,
        route=state.route,
        conversation=state.conversation,
        request_started=state.request_started,
        retrieval_started=state.retrieval_started,
    )
    found = QueryState.model_validate(search(again, context.model_copy(update={"strict": False})))
    whole = found.rerank_outcome == "complete" and not found.degradations
    least, gain = 0.0, 1.0
    if query == state.reference.in_context:
        loss = LOSS["zh" if state.language == "zh" else "en"]
        least, gain = LEAST, GAIN * math.exp(loss * _lost(state, found))
    before = max(probability_in(state, context), least)
    if not whole or _odds(probability_in(found, context)) < gain * _odds(before):
        return {}
    return {
        "query": query,
        "reference": replace(state.reference, standalone_query=query),
        "channel_results": Overwrite(found.channel_results),
        "fused": found.fused,
        "candidates": found.candidates,
        "evidence": found.evidence,
        "paths": found.paths,
        "ontology": found.ontology,
        "rerank_outcome": found.rerank_outcome,
    }


def _lost(state: QueryState, found: QueryState) -> float:
    """Return how much less of a question, by its words' weight, the best note of a second search holds; at least 0."""
    texts = [
        [f"{note.title} {' '.join(note.section)} {note.text}" for note in one.candidates[:COMPARED]]
        for one in (state, found)
    ]
    words = read_question(state.query, state.language).words_over([*texts[0], *texts[1]])
    before, after = (words.covered(one[0]) if one else 0.0 for one in texts)
    return max(before - after, 0.0)


def _odds(probability: float) -> float:
    return probability / max(1 - probability, 1e-9)
