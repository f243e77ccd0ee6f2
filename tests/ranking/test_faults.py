"""A thousand seeded faults through the node and the edge behind it: each ends in an order, on time, and says why."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from langgraph.graph import END, START, StateGraph

from reranker_suite import QUESTIONS, NoNotes, candidates
from theworld.graph.edges import after_reranking
from theworld.graph.tracing import bind
from theworld.models.cross_encoder_model import OnnxCrossEncoder
from theworld.nodes.rerank_candidates import rerank_candidates
from theworld.nodes.restore_fused_order import restore_fused_order
from theworld.ranking import (
    CrossEncoderReranker,
    EvidenceSetReranker,
    Ranked,
    RemoteReranker,
    Reranker,
    Reranking,
    RerankProtocol,
)
from theworld.settings import AnswerSettings, Settings
from theworld.state import EVIDENCE_NOTES, Candidate, Context, QueryState
from theworld.stores.dense import NumpyDense
from theworld.testing import FakeEmbedder
from theworld.testing.conformance.documents import feed, put

from .conftest import Handler, RerankServer, reply_to

RUNS = 1000
SEED = 20_260_101
HANG_S = 20.0
SLACK_MS = 12_000
TEST_IS_OVER = threading.Event()
SETTINGS = Settings()

ENGINE = ["none", "slow", "hang", "raise", "too_few", "too_many", "nan", "nothing"]
LIES = [
    "hang",
    "raise",
    "nothing",
    "unknown",
    "doubled",
    "too_few",
    "nan",
    "out_of_order",
    "not_top",
    "outcome",
    "above",
]
HTTP = ["none", "shuffled", "slow", "hang", "drip", "reset", "half", "garbage", "empty", "too_few", "index", "nan"]
HTTP += ["429", "500", "500_then_fine", "401", "html"]
HARMLESS = {"none", "slow", "shuffled", "500_then_fine"}
"""With enough time these end complete; all other faults never do."""


@dataclass(frozen=True)
class Case:
    kind: str
    fault: str
    question: str
    count: int
    top_k: int
    deadline_ms: int


def cases() -> list[Case]:
    chance = random.Random(SEED)
    kinds = [("evidence", ENGINE), ("cross", ENGINE), ("lying", LIES), ("remote", HTTP)]
    made = []
    for _ in range(RUNS):
        kind, faults = chance.choice(kinds)
        fault = chance.choice(faults)
        short = fault in {"slow", "hang", "drip"}
        made.append(
            Case(
                kind,
                fault,
                chance.choice(QUESTIONS)[0],
                count=chance.choice([8, 20, 40, 100]),
                top_k=chance.choice([1, 5, 20]),
                deadline_ms=chance.choice([10, 30, 60] if short else [120, 400, 2000]),
            )
        )
    return made


def broken(fault: str, found: Any) -> Any:
    """Return what an engine returns in place of `found`."""
    if fault == "slow":
        time.sleep(0.012)
    if fault == "hang":
        TEST_IS_OVER.wait(HANG_S)
    if fault == "raise":
        raise MemoryError("the engine is on strike")
    if fault == "nothing":
        return None
    if fault == "nan":
        return np.full(len(found), np.nan, dtype=np.float32)
    return {"too_few": found[:-1], "too_many": [*found, *found[:1]]}.get(fault, found)


class BrokenModel:
    name = "broken"

    def __init__(self, whole: OnnxCrossEncoder, fault: str) -> None:
        self._whole, self._fault = whole, fault

    def logits(self, query: str, texts: list[str]) -> Any:
        return broken(self._fault, self._whole.logits(query, texts))


class BrokenDense:
    def __init__(self, whole: NumpyDense, fault: str) -> None:
        self._whole, self._fault = whole, fault

    def __getattr__(self, name: str) -> Any:
        """Pass everything on but what holds one entry a note, or, for `nan`, one a token of the question."""
        found = getattr(self._whole, name)
        faulty = {"token_idf"} if self._fault == "nan" else {"token_codes"}
        return (lambda *args: broken(self._fault, found(*args))) if name in faulty else found


class LyingReranker:
    name = "lying"

    def __init__(self, fault: str) -> None:
        self._fault = fault

    def rerank(self, query: str, candidates: list[Candidate], *, top_k: int, **_: Any) -> Any:
        ids, n = [c.note_id for c in candidates], len(candidates)
        honest = tuple(Ranked(note_id, 1 - i / n, 1 - i / n) for i, note_id in enumerate(ids))
        lies = {
            "unknown": Reranking((*honest[1:], Ranked("no such note", 0.0, 0.0)), "complete"),
            "doubled": Reranking((*honest, Ranked(ids[0], 0.0, 0.0)), "complete"),
            "nan": Reranking((*honest[:-1], Ranked(ids[-1], math.nan, math.nan)), "complete"),
            "above": Reranking((Ranked(ids[0], 7.0, 7.0), *honest[1:]), "complete"),
            "out_of_order": Reranking((*honest[1:], Ranked(ids[0], 2.0, 1.0)), "complete"),
            "not_top": Reranking(honest[1:], "partial"),
            "outcome": Reranking(honest, "fine"),
            "too_few": Reranking(honest[:-1], "complete"),
        }
        return lies[self._fault] if self._fault in lies else broken(self._fault, [])


def answer(handler: Handler, body: Any) -> None:
    """Answer with the fault the question names."""
    fault, _, body["query"] = body["query"].partition("|")
    reply = reply_to(handler.path, body)
    results = reply["results"]
    server: RerankServer = handler.server
    if fault == "drip":
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(40):
            server.test_is_over.wait(HANG_S / 40)
            handler.wfile.write(b"x")
        handler.close_connection = True
    elif fault == "reset":
        handler.connection.close()
    elif fault == "half":
        handler.send(200, b'{"results": [{"index": 0, "rel', promised=5000)
    elif fault in {"429", "500", "401"}:
        handler.send(int(fault), {"error": fault}, Retry_After="0.01")
    elif fault == "500_then_fine" and hash_of(body) not in _FAILED_ONCE:
        _FAILED_ONCE.add(hash_of(body))
        handler.send(500, {"error": fault})
    elif fault in {"garbage", "html", "empty"}:
        handler.send(200, {"garbage": b'{"results": [{]', "html": b"<html>", "empty": b""}[fault])
    else:
        wait = {"slow": 0.02, "hang": HANG_S}.get(fault, 0.0)
        server.test_is_over.wait(wait) if wait else None
        changed = {
            "too_few": results[:-1],
            "index": [{**results[0], "index": 99}, *results[1:]],
            "nan": [{**results[0], "relevance_score": math.nan}, *results[1:]],
            "shuffled": results[::-1],
        }
        handler.send(200, {"results": changed.get(fault, results)})


_FAILED_ONCE: set[int] = set()


def hash_of(body: Any) -> int:
    return hash((body["query"], *body["documents"]))


class Bench:
    """The rerankers over one store and one server, and the part of the graph they sit in."""

    def __init__(self, server: RerankServer, dense: NumpyDense, graph: Any, model: OnnxCrossEncoder) -> None:
        self._dense, self._graph, self._model = dense, graph, model
        self._embedder = FakeEmbedder(name="en")
        server.answer = answer
        self.remote = RemoteReranker(RerankProtocol("cohere", server.url, "m", logits=False), graph, batch_size=16)

    def reranker(self, case: Case) -> Reranker:
        if case.kind == "evidence":
            return EvidenceSetReranker(BrokenDense(self._dense, case.fault), self._graph, {"en": self._embedder}.get)
        if case.kind == "cross":
            return CrossEncoderReranker(BrokenModel(self._model, case.fault), self._graph)
        return self.remote if case.kind == "remote" else LyingReranker(case.fault)

    def run(self, case: Case) -> tuple[Case, QueryState, float]:
        graph = StateGraph(QueryState, context_schema=Context)
        kept: dict[str, Any] = {"notes": NoNotes(), "settings": SETTINGS}
        graph.add_node("rerank_candidates", bind(rerank_candidates, reranker=self.reranker(case), **kept))
        graph.add_node("restore_fused_order", bind(restore_fused_order, optional=False, **kept))
        graph.add_edge(START, "rerank_candidates")
        ends = {"restore_fused_order": "restore_fused_order", "find_entity_candidates": END}
        choose = after_reranking(AnswerSettings(min_evidence=0.0))
        graph.add_conditional_edges("rerank_candidates", choose, ends)
        query = f"{case.fault}|{case.question}" if case.kind == "remote" else case.question
        compiled = graph.compile()
        begun = time.perf_counter()
        given = QueryState(query=query, candidates=fused(case.count), retrieval_started=begun)
        context = Context(deadline_ms=case.deadline_ms, top_k=case.top_k)
        state = QueryState.model_validate(compiled.invoke(given, context=context))
        return case, state, (time.perf_counter() - begun) * 1000


def fused(count: int) -> list[Candidate]:
    return [
        note.model_copy(update={"fused_rank": rank, "fused_score": 1 / (60 + rank), "final_score": 61 / (60 + rank)})
        for rank, note in enumerate(candidates(count), start=1)
    ]


@pytest.fixture
def bench(server, tmp_path, note_graph, cross_encoder_folder) -> Iterator[Bench]:
    dense = NumpyDense(tmp_path, writable=True)
    notes = candidates(130)
    vectors = FakeEmbedder(name="en").embed_passages([f"{note.title} {note.text}" for note in notes])
    feed(dense, *(put(n.note_id, n.text, vectors={"en": v}) for n, v in zip(notes, vectors, strict=True)))
    made = Bench(server, dense, note_graph, OnnxCrossEncoder(cross_encoder_folder, threads=1))
    yield made
    made.remote.close()
    dense.close()


def check(case: Case, state: QueryState, took_ms: float) -> None:
    given, found = fused(case.count), state.candidates
    assert len(found) == min(case.top_k, case.count)
    assert len({c.note_id for c in found}) == len(found)
    assert state.evidence == found[:EVIDENCE_NOTES]
    assert all(math.isfinite(c.final_score) and 0.0 <= c.final_score <= 1.0 for c in found)
    assert all(a.final_score >= b.final_score for a, b in itertools.pairwise(found))
    assert took_ms < case.deadline_ms + SLACK_MS
    if state.rerank_outcome in {"timeout", "error"}:
        assert [c.note_id for c in found] == [c.note_id for c in given[: case.top_k]]
        assert all(c.rerank_rank is None and c.rerank_score is None for c in found)
    else:
        assert state.rerank_outcome in {"complete", "partial"}
        assert [c.rerank_rank for c in found] == list(range(1, len(found) + 1))
    if state.rerank_outcome == "complete":
        assert case.fault in HARMLESS
        assert state.degradations == []
    else:
        (degradation,) = state.degradations
        assert degradation.stage == "rerank_candidates"
        assert len(degradation.reason) > len("name: ")


@pytest.mark.slow
def test_a_thousand_faults_end_in_an_order(bench: Bench) -> None:
    before = threading.active_count()
    outcomes: Counter[tuple[str, str]] = Counter()
    wrong = []
    with ThreadPoolExecutor(6) as pool:
        for case, state, took_ms in pool.map(bench.run, cases()):
            outcomes[case.kind, state.rerank_outcome] += 1
            try:
                check(case, state, took_ms)
            except AssertionError as error:
                wrong.append((case, state.rerank_outcome, state.degradations, str(error)[:300]))
    assert not wrong, f"{len(wrong)} of {RUNS}: {wrong[:3]}"
    assert outcomes.total() == RUNS
    for kind in ("evidence", "cross", "remote"):
        assert all(outcomes[kind, outcome] for outcome in ("complete", "timeout", "error")), outcomes
    assert outcomes["evidence", "partial"] + outcomes["cross", "partial"], outcomes
    assert not outcomes["lying", "complete"]
    bench.remote.close()
    TEST_IS_OVER.set()
    time.sleep(0.2)
    ours = [t for t in threading.enumerate() if "process_request" not in t.name]
    assert len(ours) <= before, [t.name for t in ours]
