"""Each channel gets its share of the one deadline; late ones are dropped and named; reranking gets what is left."""

from __future__ import annotations

import itertools
import math
import threading
import time

import numpy as np
import pytest
from langgraph.runtime import Runtime

from reranker_suite import NoNotes, candidates
from theworld.deadline import Deadline
from theworld.errors import RetrievalUnavailableError
from theworld.models.protocols import Embedded
from theworld.nodes.rerank_candidates import rerank_candidates
from theworld.nodes.retrieve_graph import retrieve_graph
from theworld.ranking import Ranked, Reranking
from theworld.retrieval.channel import channel_deadline, nearest, ranked, retrieval_deadline, search_channel
from theworld.settings import Settings
from theworld.state import ChannelPlan, Context, QueryState, RouteDecision
from theworld.stores.protocols import DenseResult, Hit, best_by_chance

BUDGET_MS = 400
SLACK_MS = 20_000
"""What a busy machine may add; what hangs would take a minute."""
SETTINGS = Settings(retrieval={"deadline_ms": BUDGET_MS}).retrieval


def begun(*, rerank: bool = True, ago_ms: float = 0.0) -> QueryState:
    route = RouteDecision(rerank=rerank, channels={"sparse": ChannelPlan(top_k=7)})
    return QueryState(query="q", route=route, retrieval_started=time.perf_counter() - ago_ms / 1000)


def find(plan, context, deadline):
    return ranked("sparse", [("a#0", 1.0)])


def test_a_channel_in_time_gives_its_list_and_its_plan_is_followed() -> None:
    seen = []

    def search(plan, context, deadline):
        seen.append((plan.top_k, context.tenant, round(deadline.budget_ms)))
        return find(plan, context, deadline)

    update = search_channel("sparse", begun(), Runtime(context=Context(tenant="t")), SETTINGS, search)
    assert update["channel_results"]["sparse"].hits == (("a#0", 1.0),)
    assert "degradations" not in update
    search_channel("dense", begun(), Runtime(), SETTINGS, search)
    assert seen == [(7, "t", 300), (SETTINGS.per_channel, "default", 300)]


@pytest.mark.parametrize(
    ("hits", "kept", "said"),
    [
        ([("a", math.nan), ("b", 0.5), ("c", math.inf)], ["b"], "2 of 3 scores are no finite numbers"),
        ([("a", math.nan)], [], "1 of 1 scores are no finite numbers"),
        ([("a", 0.1), ("b", 0.5)], ["b", "a"], "its scores do not fall down the list"),
        ([("a", 0.5), ("b", 0.4), ("a", 0.3)], ["a", "b"], "1 notes are named more than once"),
        ([("a", 0.5), ("b", 0.5)], ["a", "b"], ""),
    ],
)
def test_what_breaks_the_contract_is_left_out_and_named(hits, kept, said) -> None:
    def search(_plan, _context, _deadline):
        return {**ranked("sparse", hits), "degradations": []}

    update = search_channel("sparse", begun(), Runtime(), SETTINGS, search)
    assert [note for note, _ in update["channel_results"]["sparse"].hits] == kept
    assert [said in item.reason for item in update["degradations"]] == [True] * bool(said)
    if said:
        with pytest.raises(RetrievalUnavailableError, match=said):
            search_channel("sparse", begun(), Runtime(context=Context(strict=True)), SETTINGS, search)


def test_a_late_channel_is_dropped_and_named_after_its_share() -> None:
    release = threading.Event()
    started = time.perf_counter()
    update = search_channel("dense", begun(), Runtime(), SETTINGS, lambda *_: release.wait(60) and {})
    took = (time.perf_counter() - started) * 1000
    release.set()
    assert 190 <= took < BUDGET_MS + SLACK_MS
    (degradation,) = update["degradations"]
    assert degradation.stage == "retrieve_dense"
    assert "the dense channel was too late" in degradation.reason
    assert degradation.elapsed_ms >= 190
    assert "channel_results" not in update


def test_what_a_late_channel_finds_afterwards_changes_nothing() -> None:
    release, ended = threading.Event(), threading.Event()

    def search(plan, context, deadline):
        release.wait(5)
        ended.set()
        return find(plan, context, deadline)

    update = search_channel("sparse", begun(), Runtime(context=Context(deadline_ms=40)), SETTINGS, search)
    before = dict(update)
    release.set()
    assert ended.wait(5)
    assert update == before
    assert "channel_results" not in update


def test_a_late_graph_channel_stops_after_the_step_it_is_in() -> None:
    ended, steps = threading.Event(), []

    class Slow:
        """Every store of the graph channel; each step takes longer than the channel has."""

        def __getattr__(self, name):
            def step(*args, **kwargs):
                steps.append(name)
                time.sleep(0.1)
                ended.set()
                return []

            return step

    slow = Slow()
    update = retrieve_graph(
        begun(),
        Runtime(context=Context(deadline_ms=40)),
        graph=slow,
        sparse=slow,
        dense=slow,
        embedder_of=lambda space: None,
        settings=SETTINGS,
    )
    assert "the graph channel was too late" in update["degradations"][0].reason
    assert ended.wait(5)
    while any(thread.name == "retrieve_graph" for thread in threading.enumerate()):
        time.sleep(0.01)
    assert steps == ["search"]


def test_a_channel_without_time_left_is_not_begun() -> None:
    ran = []
    update = search_channel("sparse", begun(ago_ms=350), Runtime(), SETTINGS, lambda *_: ran.append(1) or {})
    assert ran == []
    assert "no time left of 300 ms" in update["degradations"][0].reason


def test_a_failing_channel_is_dropped_and_named() -> None:
    def search(plan, context, deadline):
        raise ConnectionError("connection refused")

    (degradation,) = search_channel("graph", begun(), Runtime(), SETTINGS, search)["degradations"]
    assert degradation.reason == "the graph channel failed and is left out: ConnectionError: connection refused"
    with pytest.raises(RetrievalUnavailableError, match=r"retrieve_graph: the graph channel failed.*without `strict`"):
        search_channel("graph", begun(), Runtime(context=Context(strict=True)), SETTINGS, search)


def test_strict_raises_for_a_late_channel() -> None:
    release = threading.Event()
    context = Context(strict=True, deadline_ms=60)
    with pytest.raises(RetrievalUnavailableError, match="too late"):
        search_channel("sparse", begun(), Runtime(context=context), SETTINGS, lambda *_: release.wait(60) and {})
    release.set()


@pytest.mark.parametrize(
    ("rerank", "context", "channels_ms", "whole_ms"),
    [
        (True, Context(), 300, 400),
        (False, Context(), 400, 400),
        (True, Context(deadline_ms=1000), 750, 1000),
        (False, Context(deadline_ms=1000), 1000, 1000),
    ],
)
def test_the_channels_share_leaves_the_rest_to_reranking(rerank, context, channels_ms, whole_ms) -> None:
    state = begun(rerank=rerank)
    channels, whole = channel_deadline(state, context, SETTINGS), retrieval_deadline(state, context, SETTINGS)
    assert channels == Deadline(state.retrieval_started, channels_ms)
    assert whole == Deadline(state.retrieval_started, whole_ms)


def test_reranking_gets_what_is_left() -> None:
    given: list[Deadline] = []

    class Reranker:
        name, scale = "asking", "unit"

        def rerank(self, query, candidates, *, top_k, tenant, deadline):
            given.append(deadline)
            return Reranking(tuple(Ranked(c.note_id, 0.5, 0.5) for c in candidates), "complete")

    settings = Settings(retrieval={"deadline_ms": 10_000})
    for ago_ms in (0, 4_000, 7_500):
        state = begun(ago_ms=ago_ms).model_copy(update={"candidates": candidates(3)})
        update = rerank_candidates(state, Runtime(), reranker=Reranker(), notes=NoNotes(), settings=settings)
        assert update["rerank_outcome"] == "complete"
        assert given[-1].started == state.retrieval_started
        assert 0 < given[-1].budget_ms < 10_000
    assert len(given) == 3


def test_a_whole_request_ends_on_time_when_a_channel_and_the_reranker_hang() -> None:
    release = threading.Event()

    class Hanging:
        name, scale = "hanging", "unit"

        def rerank(self, *_, **__):
            release.wait(60)

    settings = Settings(retrieval={"deadline_ms": BUDGET_MS})
    state, runtime = begun(), Runtime()
    marks = [time.perf_counter()]
    late = search_channel("dense", state, runtime, settings.retrieval, lambda *_: release.wait(60) and {})
    marks.append(time.perf_counter())
    state = state.model_copy(update={"candidates": candidates(3)})
    update = rerank_candidates(state, runtime, reranker=Hanging(), notes=NoNotes(), settings=settings)
    marks.append(time.perf_counter())
    release.set()
    channel_ms, rerank_ms = ((b - a) * 1000 for a, b in itertools.pairwise(marks))
    assert "too late" in late["degradations"][0].reason
    assert update["rerank_outcome"] == "timeout"
    assert "hanging: not done after" in update["degradations"][0].reason
    assert channel_ms < 300 + SLACK_MS
    assert rerank_ms > 0
    assert channel_ms + rerank_ms < BUDGET_MS + SLACK_MS


class TwoSpaces:
    """A dense store with 100 notes in one space and 40 in another, whose best are as many deviations above."""

    def spaces(self, tenant: str) -> dict[str, int]:
        return {"large": 100, "small": 40}

    def search(self, space: str, vector: object, **_: object) -> DenseResult:
        low, high = {"large": (0.5, 0.9), "small": (0.1, 0.3)}[space]
        return DenseResult([Hit(f"{space}#0", high), Hit(f"{space}#1", low)], mean=low, deviation=(high - low) / 2)


class Constant:
    def embed_query(self, text: str) -> Embedded:
        return Embedded(np.ones(1, dtype=np.float32))


def test_notes_of_two_spaces_are_compared_by_how_far_they_stand_out_of_so_many() -> None:
    """As many deviations say less among 100 notes than among 40; what the better of both has is kept."""
    embedders = {"large": Constant(), "small": Constant()}
    found, spaces = nearest("q", dense=TwoSpaces(), embedder_of=embedders.get, tenant="default", filters={}, limit=3)
    assert spaces == {"large": 100, "small": 40}
    assert [hit.note_id for hit in found.hits] == ["small#0", "large#0", "small#1"]
    assert found.hits[0].score - found.hits[1].score == pytest.approx(best_by_chance(100) - best_by_chance(40))
