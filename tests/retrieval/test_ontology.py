"""The ontology in the graph channel: its notes, its evidence, and what happens without it, off, late or broken."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from ontology.conftest import sample_documents
from theworld.demo.credit import load_credit_ontology
from theworld.nodes.retrieve_graph import retrieve_graph
from theworld.ontology.index import OntologyIndexes
from theworld.ontology.storing import import_ontology
from theworld.retrieval.ontology import OntologyChannel, merge
from theworld.settings import OntologySettings, RetrievalSettings
from theworld.state import ChannelPlan, Context, QueryState, RouteDecision, Update
from theworld.stores.knowledge_store import KnowledgeStore

EXAMPLE = "关联企业近30天授信变化与交易波动"
NOW = datetime(2024, 12, 31, 12, tzinfo=UTC)
AT_EASE = Context(now=NOW, deadline_ms=60_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(tmp_path_factory.mktemp("credit") / "store", create=True) as opened:
        opened.put(sample_documents())
        import_ontology(opened, load_credit_ontology())
        yield opened


def channel(store: KnowledgeStore, **settings: object) -> OntologyChannel:
    made = OntologySettings.model_validate(settings)
    found = OntologyChannel(OntologyIndexes(store.ledger.graph), store, lambda _: None, made)
    found.warm(store.ledger.graph.tenants())
    return found


def search(
    store: KnowledgeStore,
    ontology: OntologyChannel | None,
    question: str = EXAMPLE,
    context: Context = AT_EASE,
) -> Update:
    state = QueryState(
        query=question,
        language="zh",
        route=RouteDecision(channels={"graph": ChannelPlan()}),
        retrieval_started=time.perf_counter(),
    )
    return retrieve_graph(
        state,
        SimpleNamespace(context=context),
        graph=store.graph,
        sparse=store.sparse,
        dense=store.dense,
        embedder_of=lambda _: None,
        settings=RetrievalSettings(),
        ontology=ontology,
    )


def hits(update: Update) -> list[tuple[str, float]]:
    return list(update["channel_results"]["graph"].hits)


def test_its_notes_paths_and_capabilities_are_in_the_state(store: KnowledgeStore) -> None:
    plain, update = search(store, None), search(store, channel(store))
    evidence = update["ontology"]
    assert {"affiliated_with", "credit_change", "transaction_volatility"} <= {m.key for m in evidence.matches}
    assert [(c.kind, c.text, c.first[:10]) for c in evidence.constraints] == [("time", "近30天", "2024-12-02")]
    assert evidence.capabilities[0].key == "transaction_volatility"
    assert evidence.paths
    assert evidence.notes > 0
    assert {note for note, _ in hits(plain)} < {note for note, _ in hits(update)}
    assert {path.note_id for path in evidence.note_paths} <= {path.note_id for path in update["paths"]}
    assert [p for p in update["paths"] if p in plain["paths"]] == plain["paths"]
    assert QueryState.model_validate({"ontology": evidence.model_dump()}).ontology == evidence


def test_switched_off_or_without_an_ontology_the_channel_is_as_it_was(store: KnowledgeStore, tmp_path: Path) -> None:
    def same(one: Update, other: Update) -> bool:
        return hits(one) == hits(other) and one["paths"] == other["paths"] and one["ontology"] is None

    assert same(search(store, channel(store, enabled=False)), search(store, None))
    off = Context(now=NOW, deadline_ms=60_000, ontology=False)
    assert same(search(store, channel(store), context=off), search(store, None))
    assert same(
        search(store, channel(store), question="今天天气怎么样"), search(store, None, question="今天天气怎么样")
    )
    with KnowledgeStore.open(tmp_path / "bare", create=True) as bare:
        bare.put(sample_documents())
        bare.catch_up()
        assert same(search(bare, channel(bare)), search(bare, None))


def test_a_store_without_one_costs_a_question_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    with KnowledgeStore.open(tmp_path / "bare", create=True) as bare:
        bare.put(sample_documents())
        bare.catch_up()
        ontology = channel(bare)
        search(bare, ontology)
        assert "retrieve_graph" in started
        assert "ask_ontology" not in started
        import_ontology(bare, load_credit_ontology())
        search(bare, ontology)
    assert "ask_ontology" in started


def test_a_broken_ontology_leaves_the_pagerank_and_says_so(store: KnowledgeStore) -> None:
    class Broken(OntologyIndexes):
        def of(self, tenant: str) -> None:
            raise RuntimeError("no such thing")

    broken = OntologyChannel(Broken(store.ledger.graph), store, lambda _: None, OntologySettings())
    update = search(store, broken)
    assert hits(update) == hits(search(store, None))
    (degradation,) = update["degradations"]
    assert degradation.stage == "retrieve_graph"
    assert "the ontology is left out of the graph channel: RuntimeError: no such thing" in degradation.reason
    strict = search_strict(store, broken)
    assert "no such thing" in strict


def search_strict(store: KnowledgeStore, ontology: OntologyChannel) -> str:
    from theworld.errors import RetrievalUnavailableError

    with pytest.raises(RetrievalUnavailableError) as caught:
        search(store, ontology, context=Context(strict=True, deadline_ms=60_000))
    return str(caught.value)


def test_an_index_that_takes_too_long_is_not_waited_for(store: KnowledgeStore) -> None:
    class Slow(OntologyIndexes):
        def of(self, tenant: str) -> None:
            time.sleep(0.5)

    slow = OntologyChannel(Slow(store.ledger.graph), store, lambda _: None, OntologySettings())
    update = search(store, slow, context=Context(now=NOW, deadline_ms=1000))
    assert hits(update) == hits(search(store, None))
    assert "DeadlineExceededError" in update["degradations"][0].reason


def test_filters_hold_for_its_notes_too(store: KnowledgeStore) -> None:
    context = Context(now=NOW, filters={"folder": "en"}, deadline_ms=60_000)
    found = hits(search(store, channel(store), context=context))
    assert found
    assert all(note.startswith("en/") for note, _ in found)
    chosen = found[-1][0].partition("#")[0]
    context = context.model_copy(update={"filters": {"document_id": chosen}})
    assert {note.partition("#")[0] for note, _ in hits(search(store, channel(store), context=context))} == {chosen}


def test_another_tenant_sees_nothing_of_it(store: KnowledgeStore) -> None:
    update = search(store, channel(store), context=Context(tenant="other", deadline_ms=60_000))
    assert not hits(update)
    assert update["ontology"] is None


def test_hops_can_be_chosen(store: KnowledgeStore) -> None:
    none, far = (search(store, channel(store, hops=hops))["ontology"] for hops in (0, 3))
    assert not none.paths
    assert max(len(path.steps) for path in far.paths) <= 3


def test_both_lists_are_merged_by_their_scores() -> None:
    merged = merge([("a", 4.0), ("b", 2.0)], [("b", 0.5), ("c", 0.25)], 1.0, 10)
    assert merged == [("b", 1.5), ("a", 1.0), ("c", 0.5)]
    assert merge([("a", 4.0)], [], 1.0, 10) == [("a", 4.0)]
    assert merge([("a", 4.0)], [("b", 1.0)], 0.0, 10) == [("a", 4.0)]
    assert merge([], [("b", 2.0)], 0.5, 10) == [("b", 0.5)]
