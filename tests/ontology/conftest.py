"""A store with the sample domain: its notes without vectors (no model is needed here) and its ontology."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ontology_documents import sample_documents
from theworld.demo.credit import load_credit_ontology
from theworld.ontology.retrieval import OntologyIndex, OntologyIndexes
from theworld.ontology.storing import import_ontology
from theworld.stores.knowledge_store import KnowledgeStore


@pytest.fixture(scope="module")
def credit_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(tmp_path_factory.mktemp("credit") / "store", create=True) as store:
        store.put(sample_documents())
        import_ontology(store, load_credit_ontology())
        yield store


@pytest.fixture(scope="module")
def index(credit_store: KnowledgeStore) -> OntologyIndex:
    found = OntologyIndexes(credit_store.ledger.graph).of("default")
    assert found is not None
    return found
