"""An ontology in a store: idempotent, per tenant, and in step with the notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology_documents import plain_document
from theworld.demo.credit import load_credit_ontology
from theworld.errors import StoreError
from theworld.ontology import parse_ontology
from theworld.ontology.retrieval import OntologyIndexes
from theworld.ontology.storing import (
    import_ontology,
    remove_ontology,
    stored_ontology,
    to_edges,
    to_nodes,
)
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import graph_tables
from theworld.stores.ledger.graph_tables import co_occurrences, mixed, note_parts

SMALL = parse_ontology(
    """
id: small
classes:
  - {id: bank, labels: {zh: [银行], en: [bank]}}
  - {id: loan, labels: {zh: [贷款], en: [loan]}, confidence: 0.5}
relations:
  - {id: lends, labels: {zh: [发放], en: [lends]}, source: bank, target: loan, strength: 0.5}
"""
)


def weights(store: KnowledgeStore) -> dict[tuple[str, str], tuple[float, dict[str, float]]]:
    return {(e.source[1], e.target[1]): (e.weight, dict(e.parts)) for e in store.ledger.graph.whole("default").edges}


def test_importing_twice_changes_nothing_and_a_change_replaces_the_old(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        assert import_ontology(store, SMALL).changed
        version = store.ledger.graph.version()
        assert not import_ontology(store, SMALL).changed
        assert store.ledger.graph.version() == version
        assert stored_ontology(store) == SMALL
        other = SMALL.model_copy(update={"relations": ()})
        assert import_ontology(store, other).changed
        assert stored_ontology(store) == other
        assert not store.ledger.graph.whole("default").edges


def test_the_whole_sample_domain_comes_back_as_it_was(credit_store: KnowledgeStore) -> None:
    assert stored_ontology(credit_store) == load_credit_ontology()


def test_tenants_do_not_see_each_others_ontology(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        store.put([plain_document("a", "A", ["a bank"]), plain_document("b", "B", ["a bank"], tenant="other")])
        import_ontology(store, SMALL, tenant="other")
        assert stored_ontology(store) is None
        assert [link.source[1] for link in store.ledger.graph.whole("other").links] == ["b#0"]
        assert not store.ledger.graph.whole("default").links
        indexes = OntologyIndexes(store.ledger.graph)
        assert indexes.of("default") is None
        assert indexes.of("other") is not None
        assert all(indexes.of(f"unknown {n}") is None for n in range(20))
        assert len(indexes._of) == 1
        assert remove_ontology(store, tenant="other")
        assert not remove_ontology(store, tenant="other")
        assert indexes.of("other") is None


def test_weights_follow_the_notes(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        import_ontology(store, SMALL)
        assert weights(store)["bank", "lends"] == (pytest.approx(5 / 7), {"rule": 0.5, "confidence": 1.0})
        store.put([plain_document("a", "A", ["The bank lends.", "Another bank."])])
        store.catch_up()
        weight, parts = weights(store)["bank", "lends"]
        assert parts == {"rule": 0.5, "confidence": 1.0, "co_occurrence": pytest.approx(2 / 3)}
        assert weight == pytest.approx(0.3 * 2 / 3 + 0.4 * 0.5 + 0.3 * 1.0, abs=1e-6)
        store.put([plain_document("a", "A", ["The bank lends.", "Something else."])])
        store.catch_up()
        assert weights(store)["bank", "lends"][1]["co_occurrence"] == 1.0
        store.delete(["a"], tenant="default")
        store.catch_up()
        assert "co_occurrence" not in weights(store)["bank", "lends"][1]
        assert not store.ledger.graph.whole("default").links


def test_a_reader_sees_a_new_ontology_and_new_notes(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as writer, KnowledgeStore.open(tmp_path / "s") as reader:
        indexes = OntologyIndexes(reader.ledger.graph)
        assert indexes.of("default") is None
        import_ontology(writer, SMALL)
        first = indexes.of("default")
        assert first is not None
        assert indexes.of("default") is first
        writer.put([plain_document("a", "一家银行", ["贷款"])])
        writer.catch_up()
        second = indexes.of("default")
        assert second is not None
        assert second.notes.ids == ("a#0",)
        with pytest.raises(StoreError, match="opened for reading"):
            reader.put_graph("default", [], [])


def test_a_writer_that_died_before_linking_is_made_good(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        import_ontology(store, SMALL)
        store.ledger.put([plain_document("a", "A", ["a loan"])])
        store._release()  # as if the process had been killed
        with KnowledgeStore.open(tmp_path / "s") as reader:
            assert [link.target[1] for link in reader.ledger.graph.whole("default").links] == ["loan"]
        store.read_only = True


def test_a_store_without_an_ontology_keeps_no_trace(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        store.put([plain_document("a", "A", ["a loan"])])
        store.catch_up()
        assert store.ledger.graph.version() == 0
        assert store.ledger.graph.applied() is None


@given(
    named=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=30),
    edges=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10),
)
def test_co_occurrence_is_the_dice_coefficient(named: set[tuple[int, int]], edges: list[tuple[int, int]]) -> None:
    of = {node: {note for note, n in named if n == node} for node in range(6)}
    expected = [2 * len(of[a] & of[b]) / (len(of[a]) + len(of[b])) if of[a] or of[b] else None for a, b in edges]
    found = co_occurrences(sorted(named), edges)
    assert found == [None if value is None else pytest.approx(value, abs=1e-5) for value in expected]


@given(st.dictionaries(st.sampled_from(["co_occurrence", "rule", "confidence"]), st.floats(0, 1)))
def test_a_mixed_weight_lies_between_its_parts(parts: dict[str, float]) -> None:
    weight = mixed(parts)
    if parts:
        assert min(parts.values()) - 1e-6 <= weight <= max(parts.values()) + 1e-6
    else:
        assert weight == 0.0


def test_more_places_in_a_note_count_more() -> None:
    assert mixed(note_parts(1, 1.0, 1.0)) < mixed(note_parts(4, 1.0, 1.0)) < 1.0
    assert mixed(note_parts(1, 0.9, 1.0)) < mixed(note_parts(1, 1.0, 1.0))


def test_notes_are_linked_by_the_new_names_when_another_writer_replaces_the_ontology_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = parse_ontology("{id: small, classes: [{id: bank, labels: {en: [lender]}}]}")
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        import_ontology(store, SMALL)
        graph = store.ledger.graph
        apply = graph.apply

        def apply_and_lose(*args: Any, **options: Any) -> int | None:
            monkeypatch.undo()
            written = apply(*args, **options)
            graph.replace("default", list(to_nodes(renamed)), list(to_edges(renamed)))
            return written

        monkeypatch.setattr(graph, "apply", apply_and_lose)
        store.put([plain_document("a", "A", ["a bank"]), plain_document("b", "B", ["a lender"])])
        store.catch_up()
        assert [link.source[1] for link in graph.whole("default").links] == ["b#0"]


def test_an_index_is_of_one_moment_when_the_ontology_is_replaced_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = parse_ontology("{id: small, classes: [{id: ship, labels: {en: [ship]}}, {id: boat, labels: {en: [boat]}}]}")
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        import_ontology(store, SMALL)
        read_elements = graph_tables._elements

        def then_replace(*args: Any) -> Any:
            found = read_elements(*args)
            monkeypatch.undo()
            store.ledger.graph.replace("default", list(to_nodes(other)), list(to_edges(other)))
            return found

        monkeypatch.setattr(graph_tables, "_elements", then_replace)
        indexes = OntologyIndexes(store.ledger.graph)
        first = indexes.of("default")
        assert first is not None
        assert {*first.lookup.classes} == {"bank", "loan"}
        assert len(first.graph.targets) == 4
        again = indexes.of("default")
        assert again is not None
        assert {*again.lookup.classes} == {"ship", "boat"}
