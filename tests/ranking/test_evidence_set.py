"""What the evidence set reads off stores and channels: links by direction, how high words and vectors put a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded
from theworld.ranking import CoverWeights, EvidenceSetReranker
from theworld.ranking.fusion import DEPTH
from theworld.state import Candidate, Channel, ChannelHit
from theworld.stores.dense import NumpyDense
from theworld.stores.graph import MemoryGraph
from theworld.testing.conformance.documents import feed, put

CHANNELS: tuple[Channel, ...] = ("sparse", "dense", "graph")
PLAIN = CoverWeights(
    prior=0, agreement=0, conversation=0, walk=0, named=0, title_link=0, title_back=0, shared_link=0, late_order=0
)
AGREEING = replace(PLAIN, agreement=0.4)


class Compass:
    """Vectors without token vectors: a text points where it says `at N degrees`."""

    name, dimension = "compass", 2

    def embed_query(self, text: str) -> Embedded:
        degrees = float(text.partition(" at ")[2].partition(" degrees")[0] or 0)
        return Embedded(np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        return [0] * len(texts)


def ranked(folder: Path, graph: MemoryGraph, weights: CoverWeights, query: str, notes: list[Candidate]) -> list[str]:
    store, compass = NumpyDense(folder, writable=True), Compass()
    vectors = compass.embed_passages([note.text for note in notes])
    feed(store, *(put(n.note_id, n.text, vectors={"compass": v}) for n, v in zip(notes, vectors, strict=True)))
    reranker = EvidenceSetReranker(store, graph, {"compass": compass}.get, weights)
    found = reranker.rerank(query, notes, top_k=len(notes), tenant="default", deadline=Deadline.after(60_000))
    store.close()
    assert found.outcome == "complete", found.reason
    return [note.note_id for note in found.ranked]


def note(name: str, text: str, *, title: str = "", **scores: float) -> Candidate:
    channels: dict[Channel, ChannelHit] = {
        channel: ChannelHit(rank=1, score=scores[channel]) for channel in CHANNELS if channel in scores
    }
    return Candidate(note_id=f"{name}#0", document_id=name, title=title, text=text, channels=channels)


def test_words_and_vectors_decide_between_notes_that_cover_the_same(tmp_path: Path) -> None:
    """Both channels' scores count over their range among the candidates; a note that neither found counts nothing."""
    lost, found = note("lost", "tea"), note("found", "tea", sparse=3.0)
    far, near = note("far", "tea", sparse=3.0, dense=0.2), note("near", "tea", sparse=2.9, dense=0.7)
    assert ranked(tmp_path / "a", MemoryGraph(), PLAIN, "tea", [lost, found]) == ["lost#0", "found#0"]
    assert ranked(tmp_path / "b", MemoryGraph(), AGREEING, "tea", [lost, found]) == ["found#0", "lost#0"]
    assert ranked(tmp_path / "c", MemoryGraph(), AGREEING, "tea", [lost, far, near])[-1] == "lost#0"
    assert ranked(tmp_path / "d", MemoryGraph(), AGREEING, "tea", [far, near]) == ["near#0", "far#0"]


def test_notes_in_another_language_are_taken_to_cover_what_those_as_near_do(tmp_path: Path) -> None:
    """Nothing of a Chinese question compares with English notes: the nearest is judged by the best Chinese one.

    Without Chinese notes to judge by, all stay equal.
    """
    names = ("绿茶", "红茶", "白茶", "花茶")
    own = [note(name, f"{name}放在盒里", dense=2.0 - rank / 2) for rank, name in enumerate(names)]
    own = [one.model_copy(update={"language": "zh"}) for one in own]
    near, far = note("near", "steep green tea", dense=3.0), note("far", "a sea port", dense=0.4)
    weights = replace(PLAIN, prior=0.15)
    found = ranked(tmp_path / "a", MemoryGraph(), weights, "绿茶要多少水？", [far, *own, near])
    assert found[:2] == ["绿茶#0", "near#0"]
    assert found[-1] == "far#0"
    assert ranked(tmp_path / "b", MemoryGraph(), weights, "绿茶要多少水？", [far, near]) == ["far#0", "near#0"]


def test_words_of_the_conversation_count_less_than_those_asked(tmp_path: Path) -> None:
    """Half of what is asked outweighs half of what was asked before; without brackets the given order decides."""
    before, asked = note("before", "the catalyst tiers"), note("asked", "getting money back")
    notes = [before, asked]
    assert ranked(tmp_path / "a", MemoryGraph(), PLAIN, "money back catalyst tiers", notes)[0] == "before#0"
    assert ranked(tmp_path / "b", MemoryGraph(), PLAIN, "money back (catalyst tiers)", notes)[0] == "asked#0"


def test_words_say_less_among_notes_of_another_language(tmp_path: Path) -> None:
    by_words = note("words", "茶 notice", sparse=3.0, dense=0.2)
    by_meaning = note("meaning", "辞职", sparse=0.1, dense=0.5)
    filler = note("filler", "海", sparse=0.0, dense=0.0)
    english = [by_words, by_meaning, filler]
    chinese = [one.model_copy(update={"language": "zh"}) for one in english]
    assert ranked(tmp_path / "a", MemoryGraph(), AGREEING, "quit", english)[0] == "words#0"
    assert ranked(tmp_path / "b", MemoryGraph(), AGREEING, "quit", chinese)[0] == "meaning#0"
    # They say as much as ever where the note that has most of them is the only one in the question's language.
    assert ranked(tmp_path / "c", MemoryGraph(), AGREEING, "quit", [by_words, *chinese[1:]])[0] == "words#0"


def test_where_the_walk_concentrates_words_and_vectors_say_less(tmp_path: Path) -> None:
    """Coverage decides against agreement where the graph leads, and not where it does not."""
    told, said = note("told", "green tea leaf"), note("said", "green tea", sparse=3.0, dense=0.9)
    weights = CoverWeights(prior=0, agreement=0.45, walk=0, named=0, title_link=0, title_back=0, shared_link=0)
    assert ranked(tmp_path / "a", MemoryGraph(), weights, "green tea leaf", [told, said])[0] == "said#0"
    led = walked([told, said])
    assert ranked(tmp_path / "b", MemoryGraph(), weights, "green tea leaf", led)[0] == "told#0"


def test_the_document_of_the_last_answer_comes_first_where_the_graph_does_not_lead(tmp_path: Path) -> None:
    """It has an advantage that better coverage outweighs; where links count, it has none."""
    other, same = note("other", "green tea"), note("same", "green tea").model_copy(update={"in_conversation": 1.0})
    weights = replace(PLAIN, conversation=0.2)
    assert ranked(tmp_path / "a", MemoryGraph(), weights, "green tea", [other, same])[0] == "same#0"
    assert ranked(tmp_path / "b", MemoryGraph(), PLAIN, "green tea", [other, same])[0] == "other#0"
    assert ranked(tmp_path / "c", MemoryGraph(), weights, "green tea", walked([other, same]))[0] == "other#0"
    better = note("better", "green tea leaf")
    assert ranked(tmp_path / "d", MemoryGraph(), weights, "green tea leaf", [same, better])[0] == "better#0"


def test_an_identifier_leaves_the_similarity_as_a_whole(tmp_path: Path) -> None:
    store, text = NumpyDense(tmp_path, writable=True), "The max size is 9."
    feed(store, put("a#0", text, vectors={"compass": Compass().embed_query(text)}))
    reranker = EvidenceSetReranker(store, MemoryGraph(), {"compass": Compass()}.get, replace(PLAIN, prior=1.0))
    found = reranker.rerank("MAX_SIZE", [note("a", text)], top_k=1, tenant="default", deadline=Deadline.after(60_000))
    store.close()
    assert found.ranked[0].relevance == pytest.approx(1.0)


def test_a_record_that_is_named_stands_before_its_words_here_and_there(tmp_path: Path) -> None:
    row, words = note("row", "7;Green Tea;Oslo"), note("words", "Green leaf, tea water: the green of the tea.")
    assert ranked(tmp_path, MemoryGraph(), PLAIN, "green tea", [words, row]) == ["row#0", "words#0"]


def walked(notes: Sequence[Candidate]) -> list[Candidate]:
    """The notes as if the graph's walk had ended on just them, of many found, which lie in different documents."""
    hits = [ChannelHit(rank=rank, score=0.5) for rank in range(1, len(notes) + 1)]
    reached = [
        one.model_copy(update={"channels": {**one.channels, "graph": hit}})
        for one, hit in zip(notes, hits, strict=True)
    ]
    return [*reached, *(note(f"far{n}", "Nothing.") for n in range(DEPTH))]


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
    bare = walked([c.model_copy(update={"title": ""}) for c in (song, other, ada)])
    assert ranked(tmp_path / "d", graph, weights, query, bare)[:2] == ["song#0", second]


def graph_of_a_song(song: Candidate, other: Candidate, ada: Candidate) -> MemoryGraph:
    graph = MemoryGraph()
    feed(
        graph,
        put("song#0", song.text, title="Old Light", names=("Ada Grey",)),
        put("other#0", other.text, title="Other"),
        put("ada#0", ada.text, title="Ada Grey"),
    )
    return graph


def test_links_count_nothing_where_notes_of_one_document_compete(tmp_path: Path) -> None:
    """The link that leads on among different documents does not say which note of one is meant."""
    song, other, ada = note("song", "A song by Ada Grey."), note("other", "Else."), note("ada", "Born in Hull.")
    graph = graph_of_a_song(song, other, ada)
    weights, found = replace(PLAIN, title_link=0.3), walked([song, other, ada])
    assert ranked(tmp_path / "a", graph, weights, "song", found)[:2] == ["song#0", "ada#0"]
    manual = [one.model_copy(update={"document_id": "manual"}) for one in found]
    assert ranked(tmp_path / "b", graph, weights, "song", manual)[:2] == ["song#0", "other#0"]


def test_links_count_nothing_where_the_walk_found_nothing(tmp_path: Path) -> None:
    """In manuals notes share headings and product names: links say nothing where the graph does not lead."""
    song, other, ada = (
        note("song", "A song by Ada Grey, a singer."),
        note("other", "Something else."),
        note("ada", "Born in Hull."),
    )
    graph = graph_of_a_song(song, other, ada)
    weights = replace(PLAIN, title_link=0.3)
    order = ranked(tmp_path / "e", graph, weights, "song singer", [song, other, ada])
    assert order == ["song#0", "other#0", "ada#0"]
