"""A store with the sample domain: its notes without vectors (no model is needed here) and its ontology."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from theworld.demo.credit import load_credit_ontology, notes_dir
from theworld.ontology.index import OntologyIndex, OntologyIndexes
from theworld.ontology.storing import import_ontology
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import DocumentRecord, NoteRecord, content_hash


def plain_document(id_: str, title: str, paragraphs: list[str], tenant: str = "default") -> DocumentRecord:
    """A document of paragraphs, one note each, without vectors and mentions."""
    text = "\n\n".join(paragraphs)
    notes, start = [], 0
    for i, paragraph in enumerate(paragraphs):
        language = "zh" if "\u4e00" <= paragraph[0] <= "\u9fff" else "en"
        notes.append(NoteRecord(f"{id_}#{i}", i, paragraph, start, start + len(paragraph), language))
        start += len(paragraph) + 2
    hash_ = content_hash(title, text)
    return DocumentRecord(
        id_, title, text, f"{id_}.md", hash_, metadata={"folder": id_[:2]}, notes=tuple(notes), tenant=tenant
    )


def sample_documents() -> list[DocumentRecord]:
    documents = []
    for file in sorted(notes_dir().rglob("*.md")):
        title, *paragraphs = file.read_text("utf-8").strip().split("\n\n")
        documents.append(plain_document(f"{file.parent.name}/{file.stem}", title.removeprefix("# "), paragraphs))
    return documents


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
