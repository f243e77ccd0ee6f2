"""How far pieces of a note cover a question, by the stored token vectors of the note."""

from __future__ import annotations

from pathlib import Path

import pytest

from theworld.ranking.greedy_cover import piece_scores
from theworld.state import Candidate
from theworld.stores.dense import NumpyDense
from theworld.stores.records import embedded_text
from theworld.testing import FakeEmbedder
from theworld.testing.conformance.documents import feed, put

PIECES = ("Harbour rules.", "Boats leave at dawn.", "Tea is served to all.", "Boats leave.")
TEXT = " ".join(PIECES)
SPANS = [(TEXT.index(piece), TEXT.index(piece) + len(piece)) for piece in PIECES[:3]] + [(len(TEXT) - 12, len(TEXT))]


def scores(folder: Path, question: str, *, text: str = TEXT, section: tuple[str, ...] = ("Quay",), **stored: str):
    store, embedder = NumpyDense(folder, writable=True), FakeEmbedder(name="space")
    note = Candidate(note_id="port#0", document_id="port", ordinal=0, title="Port", section=section, text=text)
    given = stored.get("embedded", embedded_text("Port", section, "", text))
    [vectors] = embedder.embed_passages([given])
    feed(store, put("port#0", text, vectors={"space": vectors}), put("other#0", "a b", vectors={}))
    try:
        tools = {"dense": store, "embedder_of": {"space": embedder}.get, "tenant": "default"}
        return piece_scores(question, note, SPANS, **tools)
    finally:
        store.close()


@pytest.mark.parametrize("section", [("Quay",), ()])
def test_the_piece_that_holds_what_is_asked_covers_most(tmp_path: Path, section: tuple[str, ...]) -> None:
    """The title and the headings in front are counted, so that each piece has its own vectors."""
    found = scores(tmp_path, "boats leave dawn", section=section)
    assert found[1] == pytest.approx(1.0, abs=0.05)
    assert found[0] < 0.3 > found[2]
    assert found[0] < found[3] < found[1]


def test_beyond_what_was_embedded_nothing_is_covered(tmp_path: Path) -> None:
    cut = embedded_text("Port", ("Quay",), "", TEXT[: SPANS[1][1]])
    found = scores(tmp_path, "tea served", embedded=cut)
    assert (len(found), found[2], found[3]) == (4, 0.0, 0.0)


def test_without_token_vectors_nothing_is_known(tmp_path: Path) -> None:
    assert scores(tmp_path / "a", "boats", embedded="") == []
    assert scores(tmp_path / "b", "") == []
