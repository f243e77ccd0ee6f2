"""Engines that fail, hang or lie: the question is still answered, and what happened is named."""

import dataclasses
import threading

import pytest

from hostile_values import HOSTILE
from theworld.errors import InvalidQuestionError, RetrievalUnavailableError, StoreClosedError
from theworld.graph import build_graph, open_resources
from theworld.ranking import Ranked, Reranking
from theworld.settings import Settings
from theworld.state import Context, ModelUsage

pytestmark = pytest.mark.slow

QUESTION = "Who was the commander of Apollo 11?"


class Broken:
    """Passes everything on but the named method."""

    def __init__(self, whole, method, behaviour):
        self._whole, self._method, self._behaviour = whole, method, behaviour

    def __getattr__(self, name):
        return self._behaviour if name == self._method else getattr(self._whole, name)


def refuse(*args, **kwargs):
    raise ConnectionError("connection refused")


def hang(*args, **kwargs):
    threading.Event().wait(20)
    return []


def with_store(resources, **parts):
    store = Broken(resources.store, "", None)
    for name, part in parts.items():
        setattr(store, name, part)
    return dataclasses.replace(resources, store=store)


def broken(resources, channel, behaviour):
    method = {"sparse": "search", "dense": "search", "graph": "rank"}[channel]
    return Broken(getattr(resources.store, channel), method, behaviour)


@pytest.mark.parametrize("strict", [False, True])
def test_a_graph_whose_store_is_closed_says_so(copy_of_demo, strict):
    with open_resources(Settings(store=copy_of_demo())) as opened:
        graph = build_graph(opened)
        assert graph.invoke({"question": QUESTION})["answer"]
    with pytest.raises(StoreClosedError, match="the store is closed"):
        graph.invoke({"question": QUESTION}, context=Context(strict=strict))


@pytest.mark.parametrize("channel", ["sparse", "dense", "graph"])
def test_a_failing_channel_is_dropped_and_named(resources, channel):
    graph = build_graph(with_store(resources, **{channel: broken(resources, channel, refuse)}))
    output = graph.invoke({"question": QUESTION})
    assert "Armstrong" in output["answer"]
    named = [d for d in output["degradations"] if d.stage == f"retrieve_{channel}"]
    assert len(named) == 1
    assert "connection refused" in named[0].reason


def test_a_late_channel_is_not_waited_for(resources):
    graph = build_graph(with_store(resources, sparse=broken(resources, "sparse", hang)))
    output = graph.invoke({"question": QUESTION}, context=Context(deadline_ms=700, rerank=False))
    late = {d.stage for d in output["degradations"] if "too late" in d.reason}
    assert "retrieve_sparse" in late
    assert all(t.elapsed_ms < 15_000 for t in output["stages"] if t.stage.startswith("retrieve"))


def test_all_channels_failing_is_an_honest_answer(resources):
    parts = {channel: broken(resources, channel, refuse) for channel in ("sparse", "dense", "graph")}
    output = build_graph(with_store(resources, **parts)).invoke({"question": QUESTION})
    assert output["kind"] == "none"
    assert "cannot be answered now" in output["answer"]
    assert {d.stage for d in output["degradations"]} >= {"retrieve_sparse", "retrieve_dense", "retrieve_graph"}
    assert all(d.reason for d in output["degradations"])


def test_strict_raises_instead(resources):
    graph = build_graph(with_store(resources, dense=broken(resources, "dense", refuse)))
    with pytest.raises(RetrievalUnavailableError, match="channel failed"):
        graph.invoke({"question": QUESTION}, context=Context(strict=True))


class Reranker:
    name = "faulty"

    def __init__(self, behaviour):
        self.rerank = behaviour


def unknown_ids(query, candidates, **_):
    return Reranking((Ranked("no such note", 1.0, 1.0),), "complete")


def out_of_time(query, candidates, **_):
    return Reranking((), "timeout", "0 of 20 scored")


def failed(query, candidates, **_):
    return Reranking((), "error", "the model is broken")


def not_numbers(query, candidates, **_):
    return Reranking(tuple(Ranked(c.note_id, float("nan"), float("nan")) for c in candidates), "complete")


def doubled(query, candidates, **_):
    return Reranking(tuple(Ranked(candidates[0].note_id, 1.0, 1.0) for _ in candidates), "complete")


def too_few(query, candidates, **_):
    return Reranking((Ranked(candidates[-1].note_id, 1.0, 1.0),), "complete")


@pytest.mark.parametrize("behaviour", [unknown_ids, out_of_time, failed, not_numbers, doubled, too_few, refuse])
def test_a_faulty_reranker_leaves_the_fused_order(resources, behaviour):
    graph = build_graph(dataclasses.replace(resources, reranker=Reranker(behaviour)))
    output = graph.invoke({"question": QUESTION})
    assert [c.fused_rank for c in output["candidates"]] == list(range(1, len(output["candidates"]) + 1))
    assert all(c.rerank_rank is None for c in output["candidates"])
    assert [d.stage for d in output["degradations"]] == ["rerank_candidates"]
    assert "Armstrong" in output["answer"]


def test_a_deadline_that_cannot_be_kept_is_still_answered(resources):
    output = build_graph(resources).invoke({"question": QUESTION}, context=Context(deadline_ms=1))
    assert output["answer"]
    assert output["degradations"]


def test_reranking_can_be_switched_off(resources):
    settings = Settings(store=resources.settings.store, rerank={"kind": "none"})
    output = build_graph(dataclasses.replace(resources, settings=settings)).invoke({"question": QUESTION})
    assert all(c.rerank_rank is None for c in output["candidates"])
    assert output["degradations"] == []


class Source:
    """A source of entities that gives one thing for every name, or raises it."""

    def __init__(self, given):
        self._given = given

    def search(self, label, language, limit):
        if isinstance(self._given, Exception):
            raise self._given
        return self._given

    def entries_named(self, keys):
        if isinstance(self._given, Exception):
            raise self._given
        return {}


@pytest.mark.parametrize("bad", [*HOSTILE.values(), RuntimeError("gone")], ids=[*HOSTILE, "raises"])
def test_whatever_a_source_of_entities_gives_the_question_is_answered(resources, bad):
    item = {"id": "Q1615", "label": "Neil Armstrong", "description": bad, "aliases": bad, "sitelinks": bad}
    for given in (bad, [bad, item]) if not isinstance(bad, Exception) else (bad,):
        graph = build_graph(dataclasses.replace(resources, knowledge=Source(given)))
        output = graph.invoke({"question": QUESTION})
        assert "Armstrong" in output["answer"]
        for judgement in output["judgements"]:
            assert len(judgement.model_dump_json()) < 10_000
    if isinstance(bad, Exception):
        assert "gone" in " ".join(d.reason for d in output["degradations"])


def test_a_judge_that_raises_costs_the_links_only(resources):
    class Judge:
        usage = ModelUsage()

        def judge(self, entity, context, candidates):
            raise KeyError("mine")

    output = build_graph(dataclasses.replace(resources, judge=Judge())).invoke({"question": QUESTION})
    assert "Armstrong" in output["answer"]
    assert "judge_entities" in {d.stage for d in output["degradations"]}


def test_parts_that_hang_are_left_when_the_request_is_over(resources):
    """A judge, a ledger's refresh and a source of entities of one's own, each in the way of an answer."""

    class Judge:
        usage = ModelUsage()
        judge = staticmethod(hang)

    limit = Context(total_deadline_ms=4000)
    output = build_graph(dataclasses.replace(resources, judge=Judge())).invoke({"question": QUESTION}, context=limit)
    assert "Armstrong" in output["answer"]
    assert "judge_entities" in {d.stage for d in output["degradations"]}
    for method, stage in (("refresh", "receive_question"), ("notes", "fuse_candidates")):
        hanging = dataclasses.replace(resources, store=Broken(resources.store, method, hang))
        output = build_graph(hanging).invoke({"question": QUESTION}, context=limit)
        assert stage in {d.stage for d in output["degradations"]}


@pytest.mark.parametrize(
    "question", ["\u202eWho was the commander of\u202c Apollo 11?\u2066", "阿波罗11号的指令长是\u202e谁？"]
)
def test_marks_that_turn_text_around_change_nothing(resources, question):
    output = build_graph(resources).invoke({"question": question})
    assert output["answer"]
    assert output["degradations"] == []


def test_a_million_characters_are_refused(resources):
    with pytest.raises(InvalidQuestionError, match="1,000,000 characters"):
        build_graph(resources).invoke({"question": "x" * 1_000_000})
