"""Whether ledger and projections of a store tell the same."""

from __future__ import annotations

from collections import Counter

import numpy as np

from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import StoredNote
from theworld.text import entity_key

_ALL = 1_000_000


def assert_congruent(store: KnowledgeStore, tenant: str = "default") -> list[StoredNote]:
    """Compare every note of the ledger with each projection; return the notes."""
    notes = list(store.iter_notes(tenant))
    ids = sorted(note.id for note in notes)
    assert len(set(ids)) == len(ids), "the ledger has a note twice"
    lag = store.info()["lag"]
    assert not any(lag.values()), f"projections lag: {lag}"
    _check_sparse(store, tenant, notes)
    _check_dense(store, tenant, notes)
    _check_graph(store, tenant, notes)
    return notes


def _check_sparse(store: KnowledgeStore, tenant: str, notes: list[StoredNote]) -> None:
    for note in notes:
        query = note.text.rsplit(maxsplit=1)[-1].rsplit("，", maxsplit=1)[-1]
        found = [hit.note_id for hit in store.sparse.search(query, tenant=tenant, filters={}, limit=5)]
        assert found.count(note.id) == 1, f"sparse has {note.id} {found.count(note.id)} times"
    words = " ".join(dict.fromkeys(word for note in notes for word in (note.title, *note.text.split())))
    found = [hit.note_id for hit in store.sparse.search(words, tenant=tenant, filters={}, limit=_ALL)]
    assert sorted(found) == sorted(note.id for note in notes)


def _check_dense(store: KnowledgeStore, tenant: str, notes: list[StoredNote]) -> None:
    found: list[str] = []
    for space, count in store.dense.spaces(tenant).items():
        dimension = store.dense.dimension(space, tenant)
        hits = store.dense.search(space, np.ones(dimension, np.float32), tenant=tenant, filters={}, limit=_ALL).hits
        assert len(hits) == count
        found += [hit.note_id for hit in hits]
        tokens = store.dense.token_codes(space, [hit.note_id for hit in hits], tenant)
        assert all(some is not None and len(some.ids) for some in tokens)
    assert sorted(found) == sorted(note.id for note in notes)


def _check_graph(store: KnowledgeStore, tenant: str, notes: list[StoredNote]) -> None:
    naming: Counter[str] = Counter()
    aliases = {document: names for document, _, names in store.titles(tenant)}
    for note in notes:
        names = [note.title, *aliases[note.document_id]]
        naming.update({*(mention.key for mention in note.mentions), *(entity_key(name) for name in names)})
    assert store.graph.entities(list(naming), tenant=tenant) == dict(naming)
    assert {key: df for key, (_, _, df) in store.known_names(tenant).items()} == dict(naming)
