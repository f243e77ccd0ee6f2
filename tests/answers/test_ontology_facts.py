"""The facts of the ontology as answers, with the sentences that state them."""

from __future__ import annotations

from theworld.answers.facts import answer_from_facts
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.settings import AnswerSettings
from theworld.state import Candidate, DescribedSample, OntologyEvidence, PathStep, QueryState

FACT = PathStep(source="Alder", relation="controls", target="Birch")
ASKED = DescribedSample(text="controls Birch", names=("Alder",), aliases=("Alder", "赤杨"), facts=(FACT,), asked=True)
NOTES = [
    Candidate(note_id="a", document_id="a", text="Birch makes boats. In Oslo, ALDER owns Birch."),
    Candidate(note_id="b", document_id="b", text="赤杨持有 Birch 的多数股份。", language="zh"),
]


def asked(*, answered: bool) -> OntologyEvidence:
    return OntologyEvidence(understood="Who controls Birch?", described=(ASKED,), answered=answered)


def test_a_fact_is_the_answer_with_its_sentence_and_its_path() -> None:
    found = answer_from_facts(asked(answered=True), "en", NOTES)
    assert found is not None
    assert (found.text, [NOTES[s.note].text[s.start : s.end] for s in found.support]) == (
        "Alder",
        ["In Oslo, ALDER owns Birch."],
    )
    assert found.reason == "facts of the ontology: Alder —controls→ Birch"


def test_other_names_count_in_the_sentence() -> None:
    found = answer_from_facts(asked(answered=True), "en", NOTES[1:])
    assert found is not None
    assert len(found.support) == 1


def test_a_sentence_with_the_relations_word_is_preferred() -> None:
    notes = [
        Candidate(note_id="c", document_id="c", text="Alder and Birch are neighbours. Alder controls Birch since 1990.")
    ]
    found = answer_from_facts(asked(answered=True), "en", notes)
    assert found is not None
    assert [notes[0].text[s.start : s.end] for s in found.support] == ["Alder controls Birch since 1990."]


def test_where_more_is_asked_than_the_facts_say_they_are_no_answer() -> None:
    assert answer_from_facts(asked(answered=False), "en", NOTES) is None
    assert answer_from_facts(None, "en", NOTES) is None


def test_the_node_answers_with_it_and_without_a_note_it_cites_none() -> None:
    state = QueryState(question="Who controls it?", ontology=asked(answered=True), evidence=NOTES)
    answer = answer_with_entity(state, None, settings=AnswerSettings())["result"]
    assert (answer.kind, answer.text, [c.quote for c in answer.citations]) == (
        "entity",
        "Alder",
        ["In Oslo, ALDER owns Birch."],
    )
    bare = answer_with_entity(state.model_copy(update={"evidence": []}), None, settings=AnswerSettings())["result"]
    assert (bare.text, bare.citations) == ("Alder", ())
