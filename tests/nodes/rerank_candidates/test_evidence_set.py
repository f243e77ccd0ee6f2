"""What the evidence set reads off the stores: links by direction, and the other channels for notes of words alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded
from theworld.nodes.rerank_candidates import CoverWeights, EvidenceSetReranker
from theworld.state import Candidate, ChannelHit
from theworld.stores.dense import NumpyDense
from theworld.stores.graph import MemoryGraph
from theworld.testing.conformance.changes import feed, put

PLAIN = CoverWeights(prior=0, agreement=0, walk=0, named=0, title_link=0, title_back=0, shared_link=0, late_order=0)


class Compass:
    """Vectors without token vectors: a text points where it says `at N degrees`."""

    name, dimension = "compass", 2

    def embed_query(self, text: str) -> Embedded:
        degrees = float(text.partition(" at ")[2].partition(" degrees")[0] or 0)
        return Embedded(np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]


def ranked(folder: Path, graph: MemoryGraph, weights: CoverWeights, query: str, notes: list[Candidate]) -> list[str]:
    store, compass = NumpyDense(folder, writable=True), Compass()
    vectors = compass.embed_passages([note.text for note in notes])
    feed(store, *(put(n.note_id, n.text, vectors={"compass": v}) for n, v in zip(notes, vectors, strict=True)))
    reranker = EvidenceSetReranker(store, graph, {"compass": compass}.get, weights)
    found = reranker.rerank(query, notes, top_k=len(notes), tenant="default", deadline=Deadline.after(60_000))
    store.close()
    assert found.outcome == "complete", found.reason
    return [note.note_id for note in found.ranked]


def note(name: str, text: str, *, title: str = "", bm25: float = 0.0) -> Candidate:
    channels = {"sparse": ChannelHit(rank=1, score=bm25)} if bm25 else {}
    return Candidate(note_id=f"{name}#0", document_id=name, title=title, text=text, channels=channels)


def test_cosine_and_bm25_decide_between_notes_that_hold_the_same_words(tmp_path: Path) -> None:
    far, near, said = note("far", "tea at 80 degrees"), note("near", "tea at 10 degrees"), note("said", "tea", bm25=9.0)
    query, agreeing = "tea at 5 degrees", CoverWeights(agreement=0.4)
    assert ranked(tmp_path / "a", MemoryGraph(), PLAIN, query, [far, near]) == ["far#0", "near#0"]
    assert ranked(tmp_path / "b", MemoryGraph(), agreeing, query, [far, near]) == ["near#0", "far#0"]
    assert ranked(tmp_path / "c", MemoryGraph(), agreeing, "tea", [far, said]) == ["said#0", "far#0"]


@pytest.mark.parametrize(("query", "second"), [("song singer", "ada#0"), ("song by Ada Grey", "other#0")])
def test_a_link_leads_on_unless_the_question_names_where_it_leads(tmp_path: Path, query: str, second: str) -> None:
    song = note("song", "A song by Ada Grey, a singer.", title="Old Light")
    other, ada = note("other", "Something else.", title="Other"), note("ada", "Born in Hull.", title="Ada Grey")
    graph = MemoryGraph()
    feed(
        graph,
        put("song#0", song.text, title=song.title, names=("Ada Grey",)),
        put("other#0", other.text, title=other.title),
        put("ada#0", ada.text, title=ada.title),
    )
    weights = CoverWeights(prior=0, agreement=0, walk=0, named=0, title_link=0.3, title_back=0, late_order=0)
    bare = [c.model_copy(update={"title": ""}) for c in (song, other, ada)]
    assert ranked(tmp_path / "d", graph, weights, query, bare)[:2] == ["song#0", second]
