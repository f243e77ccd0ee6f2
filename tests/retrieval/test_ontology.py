"""The ontology channel: its notes, its evidence, and what happens without it, off, late or broken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from ontology_documents import sample_documents
from theworld.demo.credit import load_credit_ontology
from theworld.nodes.retrieve import retrieve_ontology
from theworld.nodes.understand_question import route_query
from theworld.ontology.retrieval import OntologyIndexes
from theworld.ontology.storing import import_ontology
from theworld.retrieval.ontology import OntologyChannel
from theworld.routing import Rules
from theworld.settings import OntologySettings, RetrievalSettings, Settings
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
    found = OntologyChannel(OntologyIndexes(store.ledger.graph), store, made)
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
        route=RouteDecision(channels={"ontology": ChannelPlan()}),
        retrieval_started=time.perf_counter(),
    )
    return retrieve_ontology(state, SimpleNamespace(context=context), ontology=ontology, settings=RetrievalSettings())


def hits(update: Update) -> list[tuple[str, float]]:
    return list(update["channel_results"]["ontology"].hits)


def test_its_notes_paths_and_capabilities_are_in_the_state(store: KnowledgeStore) -> None:
    update = search(store, channel(store))
    evidence = update["ontology"]
    assert {"affiliated_with", "credit_change", "transaction_volatility"} <= {m.key for m in evidence.matches}
    assert [(c.kind, c.text, c.first[:10]) for c in evidence.constraints] == [("time", "近30天", "2024-12-02")]
    assert evidence.capabilities[0].key == "transaction_volatility"
    assert evidence.paths
    assert evidence.notes > 0
    assert len(hits(update)) == evidence.notes
    assert {path.note_id for path in evidence.note_paths} <= {note for note, _ in hits(update)}
    assert QueryState.model_validate({"ontology": evidence.model_dump()}).ontology == evidence


def test_without_an_ontology_or_anything_recognised_it_brings_nothing(store: KnowledgeStore, tmp_path: Path) -> None:
    def silent(update: Update) -> bool:
        return not hits(update) and not update.keys() & {"ontology", "query", "degradations"}

    assert silent(search(store, None))
    assert silent(search(store, channel(store), question="今天天气怎么样"))
    with KnowledgeStore.open(tmp_path / "bare", create=True) as bare:
        bare.put(sample_documents())
        bare.catch_up()
        assert silent(search(bare, channel(bare)))


def test_it_is_asked_only_where_there_is_one_and_it_is_switched_on(store: KnowledgeStore, tmp_path: Path) -> None:
    def planned(ontology: OntologyChannel, context: Context = AT_EASE, **settings: object) -> bool:
        state = QueryState(query=EXAMPLE, language="zh")
        runtime = SimpleNamespace(context=context)
        update = route_query(state, runtime, settings=Settings(**settings), strategy=Rules(), ontology=ontology)
        return "ontology" in update["route"].channels

    assert planned(channel(store))
    assert not planned(channel(store, enabled=False))
    assert not planned(channel(store), Context(now=NOW, ontology=False))
    assert not planned(channel(store), Context(now=NOW, graph=False))
    assert not planned(channel(store), Context(now=NOW, channels=["sparse", "graph"]))
    assert planned(channel(store, enabled=False), Context(now=NOW, channels=["ontology"]))
    assert not planned(channel(store), retrieval={"graph": False})
    with KnowledgeStore.open(tmp_path / "bare", create=True) as bare:
        bare.put(sample_documents())
        bare.catch_up()
        ontology = channel(bare)
        assert not planned(ontology)
        import_ontology(bare, load_credit_ontology())
        assert planned(ontology)


def test_a_broken_ontology_is_left_out_and_says_so(store: KnowledgeStore) -> None:
    class Broken(OntologyIndexes):
        def of(self, tenant: str) -> None:
            raise RuntimeError("no such thing")

    broken = OntologyChannel(Broken(store.ledger.graph), store, OntologySettings())
    update = search(store, broken)
    assert "channel_results" not in update
    (degradation,) = update["degradations"]
    assert degradation.stage == "retrieve_ontology"
    assert "the ontology channel failed and is left out: RuntimeError: no such thing" in degradation.reason
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
            time.sleep(1)

    slow = OntologyChannel(Slow(store.ledger.graph), store, OntologySettings())
    update = search(store, slow, context=Context(now=NOW, deadline_ms=1000))
    assert "channel_results" not in update
    assert "was too late" in update["degradations"][0].reason


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
    assert "ontology" not in update


def test_hops_can_be_chosen(store: KnowledgeStore) -> None:
    none, far = (search(store, channel(store, hops=hops))["ontology"] for hops in (0, 3))
    assert not none.paths
    assert max(len(path.steps) for path in far.paths) <= 3
