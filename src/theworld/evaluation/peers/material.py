"""What all peers are made from: notes and vectors of a store, in two plain files between processes.

So a peer's process holds nothing of ours but the embedder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from theworld.errors import StoreError
from theworld.models.protocols import Embedder, FloatArray
from theworld.models.registry import Models
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import NoteParts
from theworld.stores.protocols import NoteChange
from theworld.text import entity_key

DEPTH = 100
"""Notes that each list of a peer holds, as many as our channels give."""
NOTES, VECTORS = "notes.jsonl", "vectors.npy"
_BATCH = 500
_NO_ENTITIES = frozenset({"number", "quantity"})


@dataclass(frozen=True, slots=True)
class PeerNote:
    """A note as every peer gets it."""

    id: str
    """`{document id}#{ordinal}`."""
    text: str
    """Title of its document, a line break, and its text."""
    entities: tuple[str, ...]
    """Keys of the entities it names: its document's title and aliases and its typed mentions, without numbers."""


@dataclass(frozen=True)
class Material:
    """What all peers are made from."""

    notes: Sequence[PeerNote]
    """All notes of the tenant, by id."""
    vectors: FloatArray
    """Their unit vectors, shape (notes, dimension), float32, of the embedder's space."""
    embedder: Embedder
    """The embedder of the questions, and of the vectors."""

    @cached_property
    def vector_of(self) -> Mapping[str, FloatArray]:
        """Return the vector by a note's text: peers ask for the embedding of texts, which is known already."""
        return {note.text: vector for note, vector in zip(self.notes, self.vectors, strict=True)}

    def embed_question(self, text: str) -> list[float]:
        """Return the question's vector as peers want it."""
        vector: list[float] = self.embedder.embed_query(text).vector.astype(float).tolist()
        return vector

    def embed_notes(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the known vectors of notes' texts."""
        return [self.vector_of[text].astype(float).tolist() for text in texts]


def write_material(folder: Path, store: KnowledgeStore, models: Models, tenant: str) -> str:
    """Write the tenant's notes and vectors; return the name of their space.

    Peers know one embedder: the one that most notes have vectors of. Notes of other spaces are embedded by it here.
    Raises StoreError when no configured embedder made any of the vectors.
    """
    embedder = common_embedder(store, models, tenant)
    found: list[tuple[PeerNote, FloatArray]] = []
    after, last = 0, store.ledger.sequence()
    while after < last:
        changes, after = store.ledger.changes(after, _BATCH, NoteParts())
        for change in changes:
            if change.note is not None and change.tenant == tenant:
                note = _peer_note(change)
                known = change.note.vectors.get(embedder.name) or embedder.embed_passages([note.text])[0]
                found.append((note, known.vector))
    found.sort(key=lambda pair: pair[0].id)
    write_notes(folder, [note for note, _ in found], [vector for _, vector in found])
    return embedder.name


def _peer_note(change: NoteChange) -> PeerNote:
    assert change.note is not None
    named = [entity_key(name) for name in (change.title, *change.aliases)]
    mentions = [m.key or entity_key(m.surface) for m in change.note.mentions if m.titled or m.type not in _NO_ENTITIES]
    text = f"{change.title}\n{change.note.text}" if change.title else change.note.text
    return PeerNote(change.note_id, text, tuple(dict.fromkeys(key for key in (*named, *mentions) if key)))


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
    embedder = models.by_space(space)
    if embedder is None:
        raise StoreError(f"no configured embedder makes the space {space}.", where=str(folder))
    with (folder / NOTES).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    notes = [PeerNote(note_id, text, tuple(entities)) for note_id, text, entities in rows]
    return Material(notes, np.load(folder / VECTORS), embedder)
