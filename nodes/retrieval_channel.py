"""What the three retrieval nodes share: a channel that fails or is late is dropped and named, never fatal."""

from __future__ import annotations

import time
from collections.abc import Callable

from langgraph.runtime import Runtime

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.errors import RetrievalUnavailableError
from theworld.nodes.request_deadline import request_deadline
from theworld.settings import RetrievalSettings
from theworld.state import (
    Channel,
    ChannelPlan,
    ChannelResult,
    Context,
    Degradation,
    QueryState,
    Update,
    context_of,
)

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
    share = settings.channel_share if state.route.rerank else 1.0
    return Deadline(whole.started, whole.budget_ms * share)


def search_channel(
    channel: Channel, state: QueryState, runtime: Runtime[Context], settings: RetrievalSettings, search: Search
) -> Update:
    """Run one channel's search within its share of the deadline; on failure return the Degradation that names it."""
    context = context_of(runtime)
    plan = state.route.channels.get(channel) or ChannelPlan(top_k=settings.per_channel)
    deadline = channel_deadline(state, context, settings)
    begun = time.perf_counter()
    try:
        return run_within(deadline, lambda: search(plan, context, deadline), name=f"retrieve_{channel}")
    except DeadlineExceededError as error:
        reason = f"the {channel} channel {LATE} ({error}) and is left out"
        failure: Exception = error
    except Exception as error:  # one failing channel must not end the request
        reason = f"the {channel} channel failed and is left out: {type(error).__name__}: {error}"
        failure = error
    if context.strict:
        raise RetrievalUnavailableError(
            reason, where=f"retrieve_{channel}", remedy="Mend the channel, or ask without `strict`."
        ) from failure
    elapsed = (time.perf_counter() - begun) * 1000
    return {"degradations": [Degradation(stage=f"retrieve_{channel}", reason=reason, elapsed_ms=elapsed)]}


def ranked(channel: Channel, hits: list[tuple[str, float]], begun: float, note: str = "") -> Update:
    """Return the update that puts one channel's ranked list into the state."""
    elapsed = (time.perf_counter() - begun) * 1000
    result = ChannelResult(channel=channel, hits=tuple(hits), elapsed_ms=elapsed, note=note)
    return {"channel_results": {channel: result}}
