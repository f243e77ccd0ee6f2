"""The node: what it answers, what it cites, and when it is silent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from theworld.nodes.answer_with_entity import EFSA_RIGHT, answer_with_entity
from theworld.settings import AnswerSettings
from theworld.state import Answer, Candidate, EntityCandidate, EntityJudgement, Mention, QueryState
from theworld.text import entity_key


def note(text: str, mentions: dict[str, str], *, title: str = "", language: str = "zh", start: int = 0) -> Candidate:
    """A note whose mentions are the given names with their types."""
    found = tuple(
        Mention(surface=name, type=kind, start=text.index(name), end=text.index(name) + len(name), key=entity_key(name))
        for name, kind in mentions.items()
    )
    return Candidate(
        note_id=f"{title}#0",
        document_id=title,
        title=title,
        text=text,
        start=start,
        end=start + len(text),
        language=language,
        final_score=0.9,
        mentions=found,
    )


def answer(
    question: str, evidence: list[Candidate], language: str = "zh", *, least: float = 0.0, **fields: object
) -> Answer | None:
    state = QueryState.model_validate(
        {"question": question, "query": question, "language": language, "evidence": evidence, **fields}
    )
    update = answer_with_entity(state, None, settings=AnswerSettings(min_confidence=least))  # type: ignore[arg-type]
    assert set(update) == {"result"}
    result: Answer | None = update["result"]
    return result


CURIE = note(
    "居里夫人於1898年發現了釙和鐳。她的丈夫是皮埃爾。",
    {"居里夫人": "person", "皮埃爾": "person"},
    title="化學史",
    start=100,
)


def test_an_entity_of_the_expected_type_with_its_document_offsets() -> None:
    result = answer("誰發現了釙和鐳？", [CURIE])
    assert result is not None
    assert (result.text, result.kind, result.entity) == ("居里夫人", "entity", "居里夫人")
    citation = result.citations[0]
    assert CURIE.text[citation.start - 100 : citation.end - 100] == citation.quote == "居里夫人"
    assert result.confidence == EFSA_RIGHT / 2
    assert result.scores is not None
    assert [entity.name for entity in result.scores.entities] == ["居里夫人", "皮埃爾"]
    assert (result.scores.share, result.scores.margin, result.scores.ranked) == (0.5, 0.0, 2)


def test_silent_without_a_type_without_an_entity_and_without_evidence() -> None:
    assert answer("為什麼天空是藍色的？", [CURIE]) is None
    assert answer("居里夫人住在哪一座城市？", [CURIE]) is None
    assert answer("誰發現了釙和鐳？", []) is None


def test_silent_below_the_least_confidence_as_when_rivals_stand_as_well() -> None:
    rivals = note("這家公司由王明和李強創立。", {"王明": "person", "李強": "person"}, title="公司")
    assert answer("誰創立了這家公司？", [rivals]) is not None
    assert answer("誰創立了這家公司？", [rivals], least=AnswerSettings().min_confidence) is None


def test_a_linked_answer_carries_its_qid() -> None:
    film = note("Alien is a film directed by Ridley Scott.", {"Ridley Scott": "person"}, title="Alien", language="en")
    selection = EntityCandidate(id="Q56005", url="https://www.wikidata.org/wiki/Q56005", label="Ridley Scott")
    linked = EntityJudgement(label="Ridley Scott", matched=True, selection=selection)
    result = answer("Who directed Alien?", [film], "en", judgements=[linked])
    assert result is not None
    assert (result.text, result.qid) == ("Ridley Scott", "Q56005")


def test_its_scores_are_recomputed_from_the_parts_on_record() -> None:
    first = note("居里夫人和皮埃爾住在巴黎。", {"居里夫人": "person", "皮埃爾": "person"}, title="化學家")
    second = CURIE.model_copy(update={"hop": 2, "bridge": "居里夫人", "final_score": 0.6})
    result = answer("誰發現了釙和鐳？", [first, second])
    assert result is not None
    assert result.scores is not None
    scores, given = result.scores, {one.note_id: one for one in (first, second)}
    for entity in scores.entities:
        for part in entity.parts:
            evidence = given[part.note_id]
            assert (part.score, part.decay) == (evidence.final_score, scores.efsa["hop_decay"] ** (evidence.hop - 1))
            gain = 1 + scores.efsa["beta"] * part.coverage + scores.efsa["gamma"] * part.consistency
            assert part.weight == part.score * part.decay * gain
        assert entity.documents == len({given[part.note_id].document_id for part in entity.parts})
        assert entity.diversity == 1 + scores.efsa["epsilon"] * min(entity.documents - 1, scores.efsa["most"])
        assert entity.score == sum(part.weight for part in entity.parts) * entity.diversity
    totals = [entity.score for entity in scores.entities]
    assert totals == sorted(totals, reverse=True)
    assert scores.share == totals[0] / sum(totals)
    assert result.confidence == EFSA_RIGHT * scores.share
    assert result.reason.endswith(
        f"share {scores.share:.2f}, margin {scores.margin:.2f}, EFSA rank 1 of {scores.ranked}"
    )


@given(st.text(max_size=80), st.sampled_from(["en", "zh"]))
def test_no_question_breaks_it(question: str, language: str) -> None:
    result = answer(question, [CURIE], language)
    assert result is None or result.citations
