"""The node: which method fuses, and what happens when scores cannot be fused."""

from __future__ import annotations

import time

import pytest
from langgraph.runtime import Runtime

from theworld.errors import EngineUnavailableError, RetrievalUnavailableError
from theworld.nodes.fuse_candidates import fuse_candidates
from theworld.settings import Settings
from theworld.state import ChannelPlan, ChannelResult, Context, QueryState, RouteDecision
from theworld.stores.records import StoredNote

LISTS = {
    "sparse": [("a#0", 30.0), ("b#0", 29.0), ("c#0", 1.0), ("d#0", 0.0)],
    "dense": [("c#0", 0.9), ("a#0", 0.2), ("b#0", 0.19), ("d#0", 0.1)],
}


class Notes:
    def notes(self, note_ids, *, tenant, mentions=True, within=None):
        assert not mentions
        place = ("Leave", "Who"), "list", "Who may ask:"
        return [StoredNote(n, n[0], tenant, n[0], "", 0, f"text of {n}", 0, 0, "en", {}, *place) for n in note_ids]


def run(lists=LISTS, context=None, notes=None, **fusion):
    settings = Settings(retrieval={"fusion": fusion})
    state = QueryState(
        question="?",
        route=RouteDecision(channels={channel: ChannelPlan(weight=1.0) for channel in lists}),
        channel_results={channel: ChannelResult(channel=channel, hits=hits) for channel, hits in lists.items()},
    )
    return fuse_candidates(state, Runtime(context=context), notes=notes or Notes(), settings=settings)


@pytest.mark.parametrize(("method", "order", "best"), [("rrf", "acbd", 1 / 61 + 1 / 62), ("minmax", "abcd", 1.125)])
def test_the_setting_chooses_the_method(method, order, best):
    candidates = run(method=method)["candidates"]
    assert "".join(c.document_id for c in candidates) == order
    assert [c.fused_rank for c in candidates] == [1, 2, 3, 4]
    assert candidates[0].final_score == 1.0
    assert {(c.section, c.kind, c.lead) for c in candidates} == {(("Leave", "Who"), "list", "Who may ask:")}
    assert candidates[0].fused_score == pytest.approx(best)
    assert {name: hit.rank for name, hit in candidates[order.index("a")].channels.items()} == {"sparse": 1, "dense": 2}


class SomeNotes(Notes):
    def notes(self, note_ids, **options):
        return super().notes([note for note in note_ids if note != "d#0"], **options)


def test_notes_that_nobody_has_are_left_out_and_said():
    update = run(notes=SomeNotes())
    assert [c.note_id for c in update["candidates"]] == ["a#0", "b#0", "c#0"]
    (degradation,) = update["degradations"]
    assert "no 1 of 4 found by dense, sparse" in degradation.reason
    assert "Error" not in degradation.reason, "for people"
    with pytest.raises(RetrievalUnavailableError, match="no 1 of 4"):
        run(context=Context(strict=True), notes=SomeNotes())


class LostNotes(Notes):
    def notes(self, note_ids, *, tenant, mentions=True, within=None):
        raise EngineUnavailableError("it is gone", where="ledger")

    def remembered(self, note_ids, *, tenant, mentions=True):
        return super().notes([n for n in note_ids if n in {"b#0", "c#0"}], tenant=tenant, mentions=mentions)


def test_without_the_ledger_what_is_in_memory_is_used_and_the_rest_is_told():
    update = run(notes=LostNotes())
    assert [c.note_id for c in update["candidates"]] == ["b#0", "c#0"]
    (degradation,) = update["degradations"]
    assert degradation.stage == "fuse_candidates"
    assert "2 of 4 are in memory" in degradation.reason
    with pytest.raises(EngineUnavailableError):
        run(context=Context(strict=True), notes=LostNotes())


@pytest.mark.parametrize(("rerank", "spent_ms", "left_ms"), [(True, 0, 500), (False, 0, 1000), (True, 5000, 100)])
def test_reading_the_notes_leaves_time_for_the_reranking(rerank, spent_ms, left_ms, monkeypatch):
    class Timed(Notes):
        def notes(self, note_ids, *, tenant, mentions=True, within=None):
            self.left = within.budget_ms
            return super().notes(note_ids, tenant=tenant, mentions=mentions)

    monkeypatch.setattr(time, "perf_counter", lambda: 100.0)
    notes = Timed()
    state = QueryState(
        question="?",
        route=RouteDecision(rerank=rerank),
        retrieval_started=100.0 - spent_ms / 1000,
        channel_results={"sparse": ChannelResult(channel="sparse", hits=LISTS["sparse"])},
    )
    fuse_candidates(state, Runtime(context=Context(deadline_ms=1000)), notes=notes, settings=Settings())
    assert notes.left == pytest.approx(left_ms)
