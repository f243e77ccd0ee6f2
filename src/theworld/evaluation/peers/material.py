"""Notes and vectors of a store in two plain files, so that a peer's process holds nothing of ours but the embedder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from theworld.errors import StoreError
from theworld.evaluation.peers.protocols import Material, PeerNote
from theworld.models.bundle import Models
from theworld.models.protocols import Embedder, FloatArray
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import NoteParts
from theworld.stores.protocols import NoteChange
from theworld.text import entity_key

NOTES, VECTORS = "notes.jsonl", "vectors.npy"
_BATCH = 500
_NO_ENTITIES = frozenset({"number", "quantity"})


def write_material(folder: Path, store: KnowledgeStore, models: Models, tenant: str) -> str:
    """Write the tenant's notes and vectors; return the name of their space.

    Peers know one embedder: the one that most notes have vectors of. Notes of other spaces are embedded by it here.
    Raises StoreError when no configured embedder made any of the vectors.
    """
    embedder = common_embedder(store, models, tenant)
    notes: list[PeerNote] = []
    vectors: list[FloatArray] = []
    for change in _notes(store, tenant):
        note = _peer_note(change)
        known = change.note.vectors.get(embedder.name) if change.note else None
        notes.append(note)
        vectors.append((known or embedder.embed_passages([note.text])[0]).vector)
    order = sorted(range(len(notes)), key=lambda place: notes[place].id)
    write_notes(folder, [notes[place] for place in order], [vectors[place] for place in order])
    return embedder.name


def common_embedder(store: KnowledgeStore, models: Models, tenant: str) -> Embedder:
    """Return the embedder that most of the tenant's notes have vectors of; StoreError when none is configured."""
    spaces = store.dense.spaces(tenant)
    embedder = models.by_space(max(spaces, key=lambda name: (spaces[name], name), default=""))
    if embedder is None:
        raise StoreError("holds no vectors of a configured embedder.", where=str(store.path), remedy="Ingest anew.")
    return embedder


def write_notes(folder: Path, notes: Sequence[PeerNote], vectors: Sequence[FloatArray]) -> None:
    """Write notes and their vectors, in the same order, for `read_material`."""
    with (folder / NOTES).open("w", encoding="utf-8") as file:
        for note in notes:
            file.write(json.dumps([note.id, note.text, note.entities], ensure_ascii=False) + "\n")
    np.save(folder / VECTORS, np.asarray(vectors, np.float32))


def read_material(folder: Path, models: Models, space: str) -> Material:
    """Return what `write_material` wrote, with the embedder of its space."""
    with (folder / NOTES).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    embedder = models.by_space(space)
    if embedder is None:
        raise StoreError(f"no configured embedder makes the space {space}.", where=str(folder))
    notes = [PeerNote(note_id, text, tuple(entities)) for note_id, text, entities in rows]
    return Material(notes, np.load(folder / VECTORS), embedder)


def _notes(store: KnowledgeStore, tenant: str) -> Iterator[NoteChange]:
    """Yield the last state of every note of the tenant."""
    after, last = 0, store.ledger.sequence()
    while after < last:
        changes, after = store.ledger.changes(after, _BATCH, NoteParts())
        yield from (change for change in changes if change.note is not None and change.tenant == tenant)


def _peer_note(change: NoteChange) -> PeerNote:
    assert change.note is not None
    named = [entity_key(name) for name in (change.title, *change.aliases)]
    mentions = [m.key or entity_key(m.surface) for m in change.note.mentions if m.titled or m.type not in _NO_ENTITIES]
    text = f"{change.title}\n{change.note.text}" if change.title else change.note.text
    return PeerNote(change.note_id, text, tuple(dict.fromkeys(key for key in (*named, *mentions) if key)))
