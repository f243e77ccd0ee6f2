from __future__ import annotations

import pytest
from quality_measures.losses import Loss, losses

from theworld.errors import IngestionError
from theworld.evaluation.retrieval import (
    METRICS,
    STAGES,
    QueryRankings,
    RetrievalReport,
    documents_of,
    judged_queries,
    stage_rankings,
)
from theworld.state import Candidate, Channel, ChannelResult
from theworld.stores.ledger.evaluations import Query


def channel(name: Channel, *hits: tuple[str, float]) -> ChannelResult:
    return ChannelResult(channel=name, hits=hits)


def candidate(note: str, fused: int, rerank: int | None) -> Candidate:
    return Candidate(note_id=note, document_id=note.rpartition("#")[0], fused_rank=fused, rerank_rank=rerank)


def test_notes_stand_for_their_documents_at_their_first_place() -> None:
    assert documents_of(["a#1", "b#0", "a#0", "odd#id#3"]) == ["a", "b", "odd#id"]


def test_every_stage_has_its_own_list() -> None:
    channels = {
        "sparse": channel("sparse", ("a#0", 9.0), ("b#0", 5.0), ("b#1", 1.0)),
        "dense": channel("dense", ("c#0", 0.9), ("a#0", 0.5), ("b#0", 0.1)),
    }
    found = stage_rankings(channels, [candidate("b#0", 2, 1), candidate("a#0", 1, 2), candidate("c#0", 3, 3)])
    assert list(found) == list(STAGES)
    assert found["sparse"] == ["a", "b"]
    assert found["dense"] == ["c", "a", "b"]
    assert found["graph"] == []
    assert found["m3_baseline"] == ["a", "c", "b"]
    assert found["fused"] == ["a", "b", "c"]
    assert found["reranked"] == ["b", "a", "c"]


def test_the_report_has_exactly_the_documented_shape() -> None:
    gold = {"a": 1, "b": 1}
    rankings = {stage: ["a", "x", "b"] for stage in STAGES}
    worse = rankings | {"sparse": ["x", "y"]}
    results = tuple(
        QueryRankings(Query(str(i), "?", grades=gold), lists, elapsed)
        for i, (lists, elapsed) in enumerate([(rankings, 10.0), (worse, 30.0)])
    )
    report = RetrievalReport("small", results, {"documents": 3})
    found = report.as_json()
    assert list(found) == ["dataset", "n", "stages", "latency_ms", "ingest"]
    assert list(found["stages"]) == ["sparse", "dense", "graph", "m3_baseline", "fused", "reranked"]
    names = ["recall@2", "recall@5", "recall@10", "recall@20", "all@5", "mrr", "ndcg@10"]
    assert all(list(values) == names for values in found["stages"].values())
    assert (found["n"], found["ingest"]) == (2, {"documents": 3})
    assert found["latency_ms"] == {"p50": 10.0, "p95": 30.0}
    assert found["stages"]["dense"]["recall@2"] == 0.5
    assert found["stages"]["dense"]["all@5"] == 1.0
    assert found["stages"]["sparse"]["recall@5"] == 0.5
    assert report.values("sparse", "mrr") == [1.0, 0.0]
    assert report.mean("reranked", "recall@1") == 0.5
    gain = report.gain("dense", "sparse", "mrr")
    assert (gain.mean, gain.n, gain.p_value) == (0.5, 2, 1.0)
    assert set(METRICS) == set(names)


def test_queries_without_gold_are_left_out(dataset_of) -> None:
    queries = [Query("a", "x"), Query("b", "y", grades={"d": 1}), Query("c", "z", grades={"d": 1})]
    assert [query.id for query in judged_queries(dataset_of(queries))] == ["b", "c"]
    assert [query.id for query in judged_queries(dataset_of(queries), 1)] == ["b"]
    with pytest.raises(IngestionError, match="no query has a gold document"):
        judged_queries(dataset_of(queries[:1]))


def test_a_loss_is_what_lies_below_a_stage_before_it() -> None:
    gold = {"a": 1, "b": 1}
    kept = {stage: ["a", "b"] for stage in STAGES}
    assert losses(RetrievalReport("d", (QueryRankings(Query("q", "?", grades=gold), kept, 1.0),))) == []
    late = kept | {"reranked": ["a", "x", "b"], "fused": ["x", "a", "b"], "dense": ["x"]}
    found = losses(RetrievalReport("d", (QueryRankings(Query("q", "?", grades=gold), late, 1.0),)))
    assert found == [Loss("fused", "sparse", "recall@2", 0.5), Loss("reranked", "sparse", "recall@2", 0.5)]


def test_fusion_may_lie_a_point_below_the_best_channel() -> None:
    gold = {"a": 1, "b": 1}
    kept = {stage: ["a", "b"] for stage in STAGES}
    worse = kept | {"fused": ["a", "x", "b"]}
    results = [QueryRankings(Query("q", "?", grades=gold), lists, 1.0) for lists in [worse, *[kept] * 49]]
    assert losses(RetrievalReport("d", tuple(results))) == []
    assert [loss.stage for loss in losses(RetrievalReport("d", tuple(results[:40])))] == ["fused"]
