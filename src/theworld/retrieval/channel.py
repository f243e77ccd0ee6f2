"""What retrieval nodes share: deadlines, nearest notes, and that a channel which fails or is late is left out."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.degrading import degrading, said
from theworld.models.protocols import Embedder
from theworld.settings import RetrievalSettings
from theworld.state import (
    Channel,
    ChannelPlan,
    ChannelResult,
    Context,
    Degradation,
    QueryState,
    Update,
    context_at,
)
from theworld.stores.protocols import FEWEST_NOTES, DenseResult, DenseStore, Hit, best_by_chance
from theworld.stores.records import Filters


def request_deadline(state: QueryState, context: Context) -> Deadline | None:
    """Return the context's `total_deadline_ms` from the moment the question came in, None without a limit.

    A state of no graph run has no such moment; then it begins now.
    """
    if context.total_deadline_ms is None:
        return None
    return Deadline(state.request_started or time.perf_counter(), context.total_deadline_ms)


def within_request(timeout_s: float, state: QueryState, context: Context) -> float:
    """Return seconds, cut to what is left of the request."""
    whole = request_deadline(state, context)
    return timeout_s if whole is None else min(timeout_s, whole.remaining_ms() / 1000)


CHANNEL_SHARE = 0.75
"""Of the deadline: the channels take some 30 ms and a reranking with vectors some 100, but what hangs is a server."""
LATE = "was too late"
"""Stands in the reason of a channel that missed its deadline."""

Search = Callable[[ChannelPlan, Context, Deadline], Update]
"""Searches one channel and returns the update of the state, `channel_results` among it."""


def retrieval_deadline(state: QueryState, context: Context, settings: RetrievalSettings) -> Deadline:
    """Return the deadline of retrieval: it began when the route was decided, and ends with the request."""
    budget = context.deadline_ms or settings.deadline_ms
    own = Deadline(state.retrieval_started or time.perf_counter(), budget)
    return own.ending_with(request_deadline(state, context))


def channel_deadline(state: QueryState, context: Context, settings: RetrievalSettings) -> Deadline:
    """Return the channels' share of it: they run side by side, and a late one must not use up the reranking's time."""
    whole = retrieval_deadline(state, context, settings)
    share = CHANNEL_SHARE if state.route.rerank else 1.0
    return Deadline(whole.started, whole.budget_ms * share)


def search_channel(
    channel: Channel, state: QueryState, runtime: Runtime[Context], settings: RetrievalSettings, search: Search
) -> Update:
    """Run one channel's search within its share of the deadline; on failure return the Degradation that names it."""
    begun, context = time.perf_counter(), context_at(state, runtime)
    plan = state.route.channels.get(channel) or ChannelPlan(top_k=settings.per_channel)
    deadline = channel_deadline(state, context, settings)
    stage, noted = f"retrieve_{channel}", list[Degradation]()
    update: Update = {}
    with degrading(stage, context, noted, lambda error: _left_out(channel, error)):
        update = run_within(deadline, lambda: search(plan, context, deadline), name=stage)
    results = update.get("channel_results")
    if isinstance(results, dict) and (found := results.get(channel)) is not None:
        found = found.model_copy(update={"elapsed_ms": (time.perf_counter() - begun) * 1000})
        with degrading(stage, context, noted, f"the {channel} channel breaks its contract"):
            if problem := broken_contract(found.hits):
                kept: dict[str, tuple[str, float]] = {}  # finite scores, each note once with its best, best first
                for hit in sorted((hit for hit in found.hits if math.isfinite(hit[1])), key=lambda hit: -hit[1]):
                    kept.setdefault(hit[0], hit)
                found = found.model_copy(update={"hits": tuple(kept.values())})
                raise ValueError(problem)
        update["channel_results"] = {channel: found}
    if noted:
        own = update.get("degradations", [])
        update["degradations"] = [*own, *noted] if isinstance(own, list) else noted
    return update


def broken_contract(hits: Sequence[tuple[str, float]]) -> str:
    """Return how a channel's hits break its contract, or nothing: finite scores that never increase, each note once."""
    scores, wrong = [score for _, score in hits], []
    if infinite := sum(not math.isfinite(score) for score in scores):
        wrong.append(f"{infinite} of {len(hits)} scores are no finite numbers")
    elif any(after > before for before, after in itertools.pairwise(scores)):
        wrong.append("its scores do not fall down the list")
    if repeated := len(hits) - len({note_id for note_id, _ in hits}):
        wrong.append(f"{repeated} notes are named more than once")
    return "; ".join(wrong)


def _left_out(channel: Channel, error: Exception) -> str:
    if isinstance(error, DeadlineExceededError):
        return f"the {channel} channel {LATE} ({error}) and is left out"
    return f"the {channel} channel failed and is left out: {said(error)}"


def ranked(channel: Channel, hits: Sequence[tuple[str, float]], note: str = "", **known: float) -> Update:
    """Return the update that puts one channel's ranked list into the state; `known`: mean, deviation, searched."""
    return {"channel_results": {channel: ChannelResult(channel=channel, hits=tuple(hits), note=note, **known)}}


EmbedderOf = Callable[[str], Embedder | None]
"""The embedder of a space, None when it is not configured."""


def nearest(
    query: str, *, dense: DenseStore, embedder_of: EmbedderOf, tenant: str, filters: Filters, limit: int
) -> tuple[DenseResult, dict[str, int]]:
    """Return the nearest notes over all spaces, and how many notes the tenant has in each space searched.

    Cosines of different models are not comparable, so with more than one space the scores become z-scores within
    their own space: how far a note stands out from the notes its model made, less what the best of so many does by
    chance where there are more of them than of others. Ties are ordered by note id.
    """
    counts = dense.spaces(tenant)
    embedders = {space: embedder for space in sorted(counts) if (embedder := embedder_of(space))}
    results = [
        dense.search(space, embedder.embed_query(query).vector, tenant=tenant, filters=filters, limit=limit)
        for space, embedder in embedders.items()
    ]
    searched = {space: counts[space] for space in embedders}
    if len(results) == 1:
        return replace(results[0], hits=results[0].hits[:limit]), searched
    total = best_by_chance(sum(searched.values()))
    shift = {space: total - best_by_chance(max(count, FEWEST_NOTES)) for space, count in searched.items()}
    hits = [
        Hit(hit.note_id, (hit.score - result.mean) / max(result.deviation, 1e-6) + shift[space])
        for space, result in zip(searched, results, strict=True)
        for hit in result.hits
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.note_id))
    return DenseResult(hits[:limit], 0.0, float(bool(hits))), searched
