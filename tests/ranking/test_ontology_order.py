from __future__ import annotations

from theworld.questions import read_question
from theworld.ranking.contract import about_described_first, keep_fused_tail
from theworld.state import Candidate, DescribedSample, OntologyEvidence


def test_beyond_the_evidence_set_the_fused_order_stands_and_relevance_never_rises() -> None:
    given = [("a", 4, 0.9), ("b", 1, 0.8), ("c", 5, 0.7), ("d", 3, 0.2), ("e", 2, 0.1)]
    reranked = [
        Candidate(note_id=id_, document_id=id_, fused_rank=rank, rerank_rank=i, final_score=score)
        for i, (id_, rank, score) in enumerate(given, start=1)
    ]
    kept = keep_fused_tail(reranked, 2)
    assert [c.note_id for c in kept] == ["a", "b", "e", "d", "c"]
    assert [c.final_score for c in kept] == [0.9, 0.8, 0.1, 0.1, 0.1]
    assert [c.rerank_rank for c in kept] == [1, 2, 5, 4, 3]
    assert keep_fused_tail([], 5) == []


def test_notes_about_what_is_described_and_what_is_asked_of_it_come_first() -> None:
    given = [
        ("long", "en", "Foxbell's guarantor is Tidegate."),
        ("other", "en", "Rowan built a mill."),
        ("about", "en", "In spring Tidegate built a quay."),
        ("foreign", "zh", "潮门 built a quay."),
        ("plain", "en", "Tidegate sleeps."),
    ]
    reranked = [
        Candidate(note_id=id_, document_id=id_, language=language, text=text, final_score=0.9 - i / 10)
        for i, (id_, language, text) in enumerate(given)
    ]
    named = DescribedSample(text="Foxbell's guarantor", names=("Tidegate",), aliases=("Tidegate", "潮门"))
    ontology = OntologyEvidence(understood="What was built by Tidegate?", described=(named,))
    found = about_described_first(reranked, read_question(ontology.understood), ontology)
    assert [c.note_id for c in found] == ["about", "long", "other", "foreign", "plain"]
    assert [c.final_score for c in found[:2]] == [0.9, 0.9]
