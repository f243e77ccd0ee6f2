"""What stands around an entity in the ledger: who is named with it, which notes, and names that come near."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from theworld.state import Mention
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import catalog
from theworld.stores.records import DocumentRecord, NoteRecord
from theworld.text import entity_key


def _document(id_: str, title: str, *notes: str, tenant: str = "default") -> DocumentRecord:
    """A document whose notes name what stands in their text, comma by comma; `=12` is a number."""
    records = []
    for ordinal, text in enumerate(notes):
        mentions = [
            Mention(
                surface=name.lstrip("="), type="number" if name.startswith("=") else "person", start=text.index(name),
                end=text.index(name) + len(name), key=entity_key(name),
            )
            for name in filter(None, text.split(","))
        ]  # fmt: skip
        records.append(NoteRecord(f"{id_}#{ordinal}", ordinal, text, 0, len(text), "en", mentions=tuple(mentions)))
    return DocumentRecord(id_, title, "\n".join(notes), id_, f"{id_}-1", notes=tuple(records), tenant=tenant)


@pytest.fixture
def store(tmp_path: Path) -> KnowledgeStore:
    store = KnowledgeStore.open(tmp_path / "store", create=True)
    store.put(
        [
            _document("ada", "Ada", "Babbage,London", "Babbage,=12"),
            _document("city", "London", "Ada,Babbage", "Zoo", "Park", "Bridge"),
            *(_document(f"x{n}", f"Film {n}", "London,Actor_1") for n in range(5)),
            _document("theirs", "Ada", "Secret", tenant="other"),
        ]
    )
    return store


def _around(store: KnowledgeStore, name: str, **more: int) -> catalog.Surroundings:
    found = store.surroundings(name, tenant="default", **more)
    assert found is not None
    return found


def test_entities_by_shared_notes_weighed_by_rarity(store: KnowledgeStore) -> None:
    found = _around(store, "ada")
    assert (found.entity.label, found.entity.notes) == ("Ada", 3)
    assert [(one.label, one.notes) for one in found.together] == [("Babbage", 3), ("London", 2)], "no number"
    assert [(one.note.id, one.titled) for one in found.naming] == [("ada#0", True), ("city#0", False), ("ada#1", True)]
    assert found.naming[0].names == ("babbage", "london")
    assert found.naming[1].names == ("babbage", "london"), "its document is about London"


def test_at_most_so_many_are_read_and_told(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _around(store, "London", limit=2)
    assert (len(found.naming), len(found.together)) == (2, 2)
    monkeypatch.setattr(catalog, "LOOKED_AT", 2)
    found = _around(store, "London")
    assert found.entity.notes == 10
    assert len(found.naming) == 4, "two of its own, two others"


def test_tenants_and_names_that_cannot_be_stored(store: KnowledgeStore) -> None:
    theirs = store.surroundings("Ada", tenant="other")
    assert theirs is not None
    assert [one.label for one in theirs.together] == ["Secret"]
    for name, tenant in [("Secret", "default"), ("", "default"), ("a\x00b", "default"), ("Ada", "\ud800")]:
        assert store.surroundings(name, tenant=tenant) is None
    assert store.near_names("Ada", tenant="\ud800") == []


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Babage", ["Babbage"]),
        ("actor", ["Actor_1"]),
        ("Film", [f"Film {n}" for n in range(5)]),
        ("%", []),
        ("___", []),
    ],
)
def test_near_names(store: KnowledgeStore, name: str, near: list[str]) -> None:
    assert store.near_names(name, tenant="default") == near


def test_the_most_named(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    most: Callable[[], list[str]] = lambda: store.near_names("", tenant="default", limit=2)  # noqa: E731
    assert most() == ["London", "Actor_1"]
    monkeypatch.setattr(catalog, "_NEWEST", 1)
    assert most() == ["Actor_1"]
