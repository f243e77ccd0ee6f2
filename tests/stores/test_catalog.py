"""The list of documents and one document whole, as pages, clients and the command line show them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import DocumentRecord, NoteRecord


def _document(
    id_: str, title: str, *texts: tuple[str, str], tenant: str = "default", **metadata: str
) -> DocumentRecord:
    whole, notes = "", []
    for ordinal, (text, language) in enumerate(texts):
        notes.append(NoteRecord(f"{id_}#{ordinal}", ordinal, text, len(whole), len(whole) + len(text), language))
        whole += text + "\n"
    return DocumentRecord(
        id_, title, whole, f"{id_}.md", f"{id_}-1", metadata=metadata, notes=tuple(notes), tenant=tenant
    )


@pytest.fixture
def store(tmp_path: Path) -> KnowledgeStore:
    store = KnowledgeStore.open(tmp_path / "store", create=True)
    store.put(
        [
            _document("b", "Straße", ("The road.", "en"), ("路。", "zh"), area="city"),
            _document("a", "Rush", ("A band.", "en"), area="music"),
            _document("c", "天坛", ("天坛位于北京。", "zh"), area="city"),
            _document("d", "Elsewhere", ("Not theirs.", "en"), tenant="other"),
        ]
    )
    return store


def test_lists_by_id_with_counts_languages_and_time(store: KnowledgeStore) -> None:
    page = store.documents(tenant="default")
    assert [(d.id, d.title, d.notes, d.languages) for d in page.documents] == [
        ("a", "Rush", 1, ("en",)),
        ("b", "Straße", 2, ("en", "zh")),
        ("c", "天坛", 1, ("zh",)),
    ]
    assert (page.total, page.next_after) == (3, None)
    written = [datetime.fromisoformat(d.written_at or "") for d in page.documents]
    assert all(moment.tzinfo == UTC and moment <= datetime.now(UTC) for moment in written)


def test_pages_cover_everything_once(store: KnowledgeStore) -> None:
    seen, after = [], ""
    while True:
        page = store.documents(tenant="default", after=after, limit=1)
        seen += [d.id for d in page.documents]
        if page.next_after is None:
            break
        after = page.next_after
    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("search", "filters", "expected"),
    [
        ("STRASSE", {}, ["b"]),
        ("天", {}, ["c"]),
        ("", {"area": "city"}, ["b", "c"]),
        ("b.md", {"area": "music"}, []),
        ("", {"document_id": ["c", "a"]}, ["a", "c"]),
    ],
)
def test_searches_and_filters(store: KnowledgeStore, search: str, filters: dict[str, str], expected: list[str]) -> None:
    page = store.documents(tenant="default", search=search, filters=filters)
    assert [d.id for d in page.documents] == expected
    assert page.total == len(expected)


def test_a_document_whole_has_text_and_notes_at_their_offsets(store: KnowledgeStore) -> None:
    found = store.document("b", tenant="default")
    assert found is not None
    assert [found.text[note.start : note.end] for note in found.parts] == ["The road.", "路。"]
    assert (found.source, found.metadata, found.characters) == ("b.md", {"area": "city"}, len(found.text))


@pytest.mark.parametrize(("id_", "tenant"), [("zz", "default"), ("a", "other"), ("d", "default"), ("a\x00", "default")])
def test_a_foreign_or_unknown_document_is_none(store: KnowledgeStore, id_: str, tenant: str) -> None:
    assert store.document(id_, tenant=tenant) is None
