"""Notes and vectors of a store in two plain files, so that a peer's process holds nothing of ours but the embedder.

One retriever measured in a process of its own, so that time and memory are its own.

    python -m theworld.evaluation.peers.worker FOLDER NAME

reads FOLDER/job.json and the material, and writes FOLDER/NAME.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import StoreError
from theworld.evaluation.peers.retrievers import DEPTH, PEERS, Material, PeerNote
from theworld.models.protocols import Embedder, FloatArray
from theworld.models.registry import Models, load_models
from theworld.settings import Settings
from theworld.state import Context, QueryInput
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import NoteParts
from theworld.stores.protocols import NoteChange
from theworld.text import entity_key

NOTES, VECTORS = "notes.jsonl", "vectors.npy"
_BATCH = 500
_NO_ENTITIES = frozenset({"number", "quantity"})
OURS = "theworld"
"""Name under which our own graph is measured."""
WARM_UP = "Which of these was the first, and why? 其中哪一个最早？"
"""Asked before the clock counts; no question of a data set, whose embedding would then be known."""
_RANKED_BY = ("rerank_candidates", "restore_fused_order")
Measured = Callable[[str], tuple[list[str], float | None]]
"""Question -> note ids, best first, and the milliseconds until they stood, when it goes on after that."""


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


def peak_memory_mb() -> float | None:
    """Return the most memory this process ever had resident, None where the system does not tell.

    Read from /proc where there is one: `ru_maxrss` of a process starts with what its parent had.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next((line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM")), None)
        return int(peak.split()[1]) / 1024 if peak else None
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@contextmanager
def _opened(name: str, folder: Path, job: dict[str, Any]) -> Iterator[Measured]:
    settings = Settings.load(store=job["store"])
    if name == OURS:
        from theworld.graph import build_graph, open_resources

        with open_resources(settings) as resources:
            yield _ask(build_graph(resources), job["tenant"])
    else:
        retrieve = PEERS[name].make(read_material(folder, load_models(settings), job["space"]))
        yield lambda question: (retrieve(question), None)


def _ask(graph: Any, tenant: str) -> Measured:
    """Ask our graph as a caller does, and note when its ranking stood; the answer is made after that."""
    context = Context(tenant=tenant, top_k=DEPTH, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)

    def retrieve(question: str) -> tuple[list[str], float | None]:
        begun = time.perf_counter()
        ranked_after, found = None, []
        for update in graph.stream(QueryInput(question=question), context=context, stream_mode="updates"):
            for node, values in update.items():
                if values and "candidates" in values:
                    found = [candidate.note_id for candidate in values["candidates"]]
                if node in _RANKED_BY:
                    ranked_after = (time.perf_counter() - begun) * 1000
        return found, ranked_after

    return retrieve


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Make the retriever, ask it all questions of the job, and return what came out."""
    job = json.loads((folder / "job.json").read_text("utf-8"))
    begun = time.perf_counter()
    with _opened(name, folder, job) as retrieve:
        retrieve(WARM_UP)
        ready = time.perf_counter() - begun
        rankings, times, totals = [], [], []
        for question in job["questions"]:
            begun = time.perf_counter()
            found, ranked_after = retrieve(question)
            total = (time.perf_counter() - begun) * 1000
            rankings.append(found)
            times.append(total if ranked_after is None else ranked_after)
            totals.append(total)
    return {
        "rankings": rankings,
        "elapsed_ms": times,
        "total_ms": totals,
        "ready_s": ready,
        "memory_mb": peak_memory_mb(),
        "versions": {} if name == OURS else PEERS[name].versions(),
    }


if __name__ == "__main__":
    to, chosen = Path(sys.argv[1]), sys.argv[2]
    (to / f"{chosen}.json").write_text(json.dumps(measure(chosen, to)), "utf-8")
